"""`whence site`: make a site in a directory, let others reach it, bring it up to date, look at it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.run import Commands, add_command, working
from whence.errors import UnsupportedError

if TYPE_CHECKING:
    from whence.replica.site import Site

# As whence.web.site has them, which is not loaded for `--help`.
HOST, PORT = "127.0.0.1", 8754
EXAMPLES = """\
examples:
  whence site init phone state/ --program tables.sql --share sighting --follow base:open_cases=cases
  whence site serve state/ --token ...        answer other sites over HTTP
  whence site sync state/ http://base:8754 --token ...
  whence site sync state/ /media/stick        messages as files in a folder that others look into
  whence site upload state/ /srv/landing --view seen     files for a cloud site on Spark
  whence site cloud cloud /srv/landing --table 'sighting(who STRING NOT NULL, place STRING NOT NULL)' \\
         --program views.sql --publish busy     merge them on Spark, and let sites follow its views
  whence site status state/
  whence site forget state/ drone             a site that will not come back
"""


def add_site(commands: Commands) -> None:
    site = add_command(
        commands, "site", "replicate tables and views", "Sites that work offline and agree later.", EXAMPLES
    )
    parts = site.add_subparsers(title="commands", metavar="COMMAND", required=True)
    init = parts.add_parser("init", help="make a site in a directory")
    init.add_argument("name", help="what other sites call it")
    init.add_argument("directory", type=Path)
    init.add_argument("--program", type=Path, help="a .sql or .dl file that makes its tables and views")
    init.add_argument("--share", action="append", default=[], metavar="TABLE", help="a table that all sites write")
    init.add_argument(
        "--follow", action="append", default=[], metavar="SITE:RELATION[=NAME]", help="a relation of another site"
    )
    init.set_defaults(command=init_site, usage_error=init.error)
    serve = parts.add_parser("serve", help="let other sites reach it over HTTP")
    serve.add_argument("directory", type=Path)
    _add_address(serve)
    serve.set_defaults(command=serve_site, usage_error=serve.error)
    sync = parts.add_parser("sync", help="bring it and another site up to date")
    sync.add_argument("directory", type=Path)
    sync.add_argument("target", help="the address of a site, or a folder for messages")
    sync.add_argument("--token", help="of the site at that address")
    sync.add_argument("--certificate", help="a file to check its certificate by")
    sync.set_defaults(command=sync_site, usage_error=sync.error)
    upload = parts.add_parser("upload", help="leave what is new as files for a cloud site on Spark")
    upload.add_argument("directory", type=Path)
    upload.add_argument("folder", help="where the cloud site looks")
    upload.add_argument("--view", action="append", default=[], help="a view whose supports are left, too")
    upload.set_defaults(command=upload_site, usage_error=upload.error)
    cloud = parts.add_parser("cloud", help="merge on Spark what sites leave as files, and let them follow views of it")
    cloud.add_argument("name", help="what other sites call it")
    cloud.add_argument("folder", help="where sites leave files")
    cloud.add_argument("--table", action="append", default=[], metavar="NAME(COLUMNS)", help="a table that sites share")
    cloud.add_argument("--view", action="append", default=[], metavar="NAME(COLUMNS)", help="a view that they tell")
    cloud.add_argument("--program", type=Path, help="a .sql file with views over these")
    cloud.add_argument("--publish", action="append", default=[], metavar="VIEW", help="what sites may follow")
    cloud.add_argument("--introduce", action="append", default=[], metavar="SITE", help="who may")
    cloud.add_argument("--once", action="store_true", help="take what is there, tell how it stands, and end")
    _add_address(cloud)
    cloud.set_defaults(command=run_cloud, usage_error=cloud.error)
    status = parts.add_parser("status", help="tell what it shares, whom it met, what it keeps")
    status.add_argument("directory", type=Path)
    status.set_defaults(command=show_status, usage_error=status.error)
    introduce = parts.add_parser("introduce", help="let sites in that it has not met, over HTTP or through a folder")
    introduce.add_argument("directory", type=Path)
    introduce.add_argument("sites", nargs="+", metavar="SITE")
    introduce.set_defaults(command=introduce_sites, usage_error=introduce.error)
    forget = parts.add_parser("forget", help="wait no longer for a site that will not come back")
    forget.add_argument("directory", type=Path)
    forget.add_argument("site")
    forget.set_defaults(command=forget_site, usage_error=forget.error)


def _add_address(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--host", default=HOST, help=f"the address to listen at; {HOST}, this machine, unless given")
    serve.add_argument("--port", type=int, default=PORT, help=f"{PORT} unless given; 0 takes a free one")
    serve.add_argument("--token", help="what requests have to bring; made and printed unless given")
    serve.add_argument("--certificate", help="a file; with it and its key, what is sent is encrypted")
    serve.add_argument("--key", help="the file with the key of the certificate")


def init_site(options: argparse.Namespace) -> None:
    from whence.replica.site import site

    follows = [_followed(text) for text in options.follow]
    with site(options.name, options.directory) as made:
        if options.program is not None:
            program: Path = options.program
            text = program.read_bytes()
            (made.rules if program.suffix == ".dl" else made.execute)(text, name=str(program), directory=program.parent)
        for table in options.share:
            made.share(table)
        for base, relation, name in follows:
            made.follow(base, relation, name)
        _say(str(made.status()))


def serve_site(options: argparse.Namespace) -> None:
    with _opened(options) as site:
        _serve(site, options)


def _serve(site: Site, options: argparse.Namespace) -> None:
    from whence.web.site import ServedSite

    served = ServedSite(
        site,
        host=options.host,
        port=options.port,
        token=options.token,
        certificate=options.certificate,
        key=options.key,
    )
    with served:
        _say(f"{site.name} is at {served.url}")
        if options.token is None:
            _say(f"its token is {served.token}")
        _say("Ctrl-C ends it.")
        served.wait()


def upload_site(options: argparse.Namespace) -> None:
    from whence.replica.uploads import upload

    with _opened(options) as site:
        _say(f"left {upload(site, options.folder, options.view):,} pieces in {options.folder}")


def run_cloud(options: argparse.Namespace) -> None:
    from whence.database.connect import connect

    tables, views = ([_declared(text) for text in given] for given in (options.table, options.view))
    with connect(engine="spark") as db:
        # Not before it is known that there is a Spark.
        from whence.replica.cloud import CloudSite
        from whence.spark.database import SparkDatabase

        assert isinstance(db, SparkDatabase)
        cloud = CloudSite(options.name, db, options.folder)
        for name, columns in tables:
            cloud.share(name, columns)
        for name, columns in views:
            cloud.follow(name, columns)
        if options.program is not None:
            db.execute(options.program.read_bytes(), name=str(options.program))
        cloud.take_available()
        for view in options.publish:
            cloud.publish(view)
        cloud.site.introduce(*options.introduce)
        _say(str(cloud.site.status()))
        for name, _ in tables:
            _say(f"  merged {name}: {db.df(name).count():,} rows")
        if not options.once:
            cloud.start()
            _serve(cloud.site, options)
        cloud.close()


def sync_site(options: argparse.Namespace) -> None:
    from whence.replica.links import sync_folder

    target: str = options.target
    with _opened(options) as site:
        if target.startswith(("http://", "https://")):
            with working(f"meeting {target}"):
                traffic = site.pull(target, token=options.token, certificate=options.certificate)
            _say(f"sent {traffic.sent:,} bytes, received {traffic.received:,}, in {traffic.messages} messages")
        else:
            done = sync_folder(site, target)
            _say(f"took {done.taken} messages, left {done.left}")
            for reason in done.refused:
                _say(f"refused {reason}")


def show_status(options: argparse.Namespace) -> None:
    with _opened(options) as site:
        _say(str(site.status()))


def introduce_sites(options: argparse.Namespace) -> None:
    with _opened(options) as site:
        site.introduce(*options.sites)
        _say(str(site.status()))


def forget_site(options: argparse.Namespace) -> None:
    with _opened(options) as site:
        site.forget(options.site)
        _say(str(site.status()))


def _opened(options: argparse.Namespace) -> Site:
    from whence.replica.site import open_site

    return open_site(options.directory)


def _declared(text: str) -> tuple[str, str]:
    name, bracket, columns = text.rstrip().partition("(")
    if not (name.strip() and bracket and columns.endswith(")")):
        raise UnsupportedError(f"{text!r} is no relation with columns", hint="write 'NAME(COLUMN TYPE, ...)'")
    return name.strip(), columns[:-1]


def _followed(text: str) -> tuple[str, str, str | None]:
    site, colon, rest = text.partition(":")
    relation, _, name = rest.partition("=")
    if not (site and colon and relation):
        raise UnsupportedError(f"{text!r} is nothing to follow", hint="write SITE:RELATION or SITE:RELATION=NAME")
    return site, relation, name or None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
