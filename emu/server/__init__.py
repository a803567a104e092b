"""A device that real HailoRT programs reach over the network: HRPC over TCP, and the Ethernet control protocol."""
