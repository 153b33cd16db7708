"""Nightly runs and their steps."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "nightly_run",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("workloads", sa.String(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("on_date", sa.Date(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("workloads_sha256", sa.String(), nullable=False),
        sa.Column("catalog", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(), nullable=False),
        sa.Column("claim_lasts_s", sa.Float(), nullable=False),
        sa.UniqueConstraint("workloads", "on_date", "number", name="uq_nightly_run"),
    )
    op.create_table(
        "nightly_step",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("nightly_run.id"), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.UniqueConstraint("run_id", "step", "attempt", name="uq_nightly_step"),
    )


def downgrade() -> None:
    op.drop_table("nightly_step")
    op.drop_table("nightly_run")
