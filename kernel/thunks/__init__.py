"""The D3DKMT entry points, message by message: each a small method that checks and hands on."""
