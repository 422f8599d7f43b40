"""How people click."""

from rankloop.click_models.users import User

__all__ = ["User"]
