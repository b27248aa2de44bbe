"""One object dictionary as tables; SII, ESI, SDO information, process data and the documentation come from it."""
