"""``make fuzz``: every decoder of files against mutated files that ship with the package.

    corpus -> structure-aware mutation -> child process with limits -> accepted, refused in one line, or a defect

A case is made from the seed, the decoder's name and its number alone, so that ``python -m fuzz --seed S --case
robot:1234`` makes it again. A new decoder is one row of ``fuzz/decoders.py``.
"""
