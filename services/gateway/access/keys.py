"""One derived key per purpose: a signature made for one purpose is not valid for another."""

import hashlib
import hmac

COOKIE, TICKET = "parley-page", "parley-socket"  # also the audience of what is signed
PROOF, SESSION_ID = "parley-proof", "parley-session-id"


def derive_key(secret: bytes, purpose: str) -> bytes:
    """32 bytes by HKDF-SHA256 (RFC 5869) from `secret`, with no salt and `purpose` as the info."""
    extracted = hmac.digest(bytes(hashlib.sha256().digest_size), secret, "sha256")
    return hmac.digest(extracted, purpose.encode() + b"\x01", "sha256")
