"""From the intermediate representation to a token program in a container."""
