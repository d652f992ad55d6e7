"""Who may answer by a button in a chat: nobody, unless the settings say so."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from kova_auto.core.secret import SecretRef
from kova_auto.core.value import Value

Team = Annotated[str, StringConstraints(pattern=r"^[TE][A-Z0-9]{2,20}$")]
User = Annotated[str, StringConstraints(pattern=r"^[UW][A-Z0-9]{2,20}$")]
App = Annotated[str, StringConstraints(pattern=r"^A[A-Z0-9]{2,20}$")]


class SlackTable(Value):
    """Say which app of Slack sends us presses of buttons, and whose presses count.

    Attributes:
        signing_secret: Of the app, with which Slack signs.
        team: Id of the one workspace of Slack; a user's id means somebody inside it only.
        users: Ids of those who may answer.
        app: Id of the app; None for any that knows the signing secret.
    """

    signing_secret: SecretRef
    team: Team
    users: tuple[User, ...] = Field(min_length=1)
    app: App | None = None
