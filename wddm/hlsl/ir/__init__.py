"""The intermediate representation: SSA values of 32 bits, vector instructions, structured control flow."""
