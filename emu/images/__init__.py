"""Pictures as inputs and as results: reading, fitting, colours and YUV orders; boxes, masks and maps drawn (Pillow)."""
