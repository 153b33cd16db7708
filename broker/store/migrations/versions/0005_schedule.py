"""Schedules, job runs and leases."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_schedule()
    _create_job_run()
    op.create_table(
        "lease",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.Column("taken_at", sa.DateTime(), nullable=False),
        sa.Column("renewed_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
    )


def downgrade() -> None:
    for table in ("lease", "job_run", "schedule"):
        op.drop_table(table)


def _create_schedule() -> None:
    # An id is never used again, as the runs of what was removed keep theirs.
    op.create_table(
        "schedule",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, unique=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("recorded", sa.Boolean(), nullable=False),
        sa.Column("time_limit_s", sa.Float(), nullable=True),
        sa.Column("gap_fraction", sa.Float(), nullable=True),
        sa.Column("every_s", sa.Integer(), nullable=True),
        sa.Column("local_time", sa.String(), nullable=True),
        sa.Column("weekday", sa.Integer(), nullable=True),
        sa.Column("time_zone", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("interrupted", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
    )


def _create_job_run() -> None:
    op.create_table(
        "job_run",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("schedule_id", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("micro_usd", sa.BigInteger(), nullable=True),
        sa.Column("gap_fraction", sa.Float(), nullable=True),
        sa.UniqueConstraint("schedule_id", "due_at", "attempt"),
    )
    op.create_index("ix_job_run_state", "job_run", ["state"])
