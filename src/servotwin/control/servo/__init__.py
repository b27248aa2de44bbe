"""The servo of every axis: axis controller, servo driver, laws of the user."""
