"""Messages of Zeebe's gateway, made from the .proto file by `make proto`."""
