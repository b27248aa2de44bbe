"""A small EtherCAT master: finds slaves, sets them up, and exchanges process data with a checked working counter."""
