"""Slave controllers in software: registers, SyncManagers, FMMUs, EEPROM, watchdogs, distributed clocks."""
