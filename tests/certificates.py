"""Certificates that sign themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_certificate(path: Path, host: str) -> Path:
    """A certificate for a host's name, valid for a day, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1)
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path.write_bytes(
        signed.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
    return path
