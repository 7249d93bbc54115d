"""What the web server asks: pshub-worker-py worker.py"""

from pshub import TaskError, task

CENTS_PER_KILO = {"DE": 490, "FR": 690, "US": 1490}


@task("shipping_cost:1.0", idempotent=True)
def shipping_cost(country: str, grams: int) -> dict[str, int]:
    """What it costs to send a parcel to a country."""
    if country not in CENTS_PER_KILO:
        raise TaskError(f"Nothing is sent to {country}.", code="NoSuchCountry", http_status=404)
    return {"cents": CENTS_PER_KILO[country] * -(-grams // 1000)}
