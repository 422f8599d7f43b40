"""The service from programs in Python; httpx is loaded when a client is made."""

from rankloop.client.asynchronous import AsyncClient, AsyncShown
from rankloop.client.client import Client
from rankloop.client.errors import ServiceAway, ServiceError, ServiceRefused

__all__ = ["AsyncClient", "AsyncShown", "Client", "ServiceAway", "ServiceError", "ServiceRefused"]
