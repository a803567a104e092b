"""A virtual card: what the kernel driver of a Hailo-8 answers, for programs that know nothing of emu (card.md)."""
