"""Files about EtherCAT slaves and networks: ESI describes kinds of slaves, ENI a network of them."""
