"""The link between a simulated arm and a rig: frames, transports, supervision, handshake. See docs/rig-protocol.md."""
