"""What tinydeploy tells about itself and about models, as documents."""
