"""The first catalog: runs, rejection counts, observations, quarantine, snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "refresh_run",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=False, unique=True),
        sa.Column("oldest_observed_at", sa.DateTime(), nullable=True),
        sa.Column("newest_observed_at", sa.DateTime(), nullable=True),
        sa.Column("received", sa.Integer(), nullable=False),
        sa.Column("offers", sa.Integer(), nullable=False),
        sa.Column("new", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Integer(), nullable=False),
        sa.Column("vanished", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("hint", sa.String(), nullable=False),
    )
    op.create_index("ix_refresh_run_provider", "refresh_run", ["provider", "finished_at"])
    op.create_table(
        "rejection_count",
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("refresh_run.id"), primary_key=True),
        sa.Column("reason", sa.String(), primary_key=True),
        sa.Column("rows", sa.Integer(), nullable=False),
    )
    op.create_table(
        "snapshot",
        sa.Column("hash", sa.String(), primary_key=True),
        sa.Column("as_of", sa.DateTime(), nullable=False),
    )
    _create_observation()
    _create_quarantine()


def downgrade() -> None:
    for table in ("quarantine", "observation", "snapshot", "rejection_count", "refresh_run"):
        op.drop_table(table)


def _create_observation() -> None:
    op.create_table(
        "observation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("offer_key", sa.String(), nullable=False),
        sa.Column("price_kind", sa.String(), nullable=False),
        sa.Column("gpu", sa.String(), nullable=False),
        sa.Column("micro_usd_per_hour", sa.BigInteger(), nullable=False),
        sa.Column("effective_micro_usd_per_hour", sa.BigInteger(), nullable=False),
        sa.Column("confirmed", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("observed_at", sa.DateTime(), nullable=False),
        sa.Column("valid_from", sa.DateTime(), nullable=False),
        sa.Column("valid_to", sa.DateTime(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
    )
    op.create_index("ix_observation_open", "observation", ["provider", "valid_to"])
    op.create_index("ix_observation_key", "observation", ["provider", "offer_key"])


def _create_quarantine() -> None:
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("offer_key", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("effective_micro_usd_per_hour", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("observed_at", sa.DateTime(), nullable=False),
        sa.Column("valid_from", sa.DateTime(), nullable=False),
        sa.Column("valid_to", sa.DateTime(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
    )
    op.create_index("ix_quarantine_open", "quarantine", ["provider", "valid_to"])
