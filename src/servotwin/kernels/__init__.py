"""Expression graph to machine code, kept between runs."""
