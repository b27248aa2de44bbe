"""EtherCAT: frames, recordings, and slave controllers in software."""
