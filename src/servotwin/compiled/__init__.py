"""Machine code: how functions are compiled, called by address and kept between runs."""
