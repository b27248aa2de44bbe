"""CANopen over EtherCAT: mailboxes, SDOs, SDO information, emergency messages, over one object dictionary."""
