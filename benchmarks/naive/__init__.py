"""The policies as their papers write them, compiled but with no cleverness: what the package is measured against."""
