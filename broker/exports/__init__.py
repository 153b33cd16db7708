"""Plans in the forms that other tools take: files to launch, to pay by, to read."""
