"""What the pages of the admin share. Each room registers its own."""
