# Finds the Java that Spark runs on, or installs one. Read by setup.sh, after python.sh.

# True when the java that Spark would take, by JAVA_HOME or on the PATH, is version 17 or newer.
java_works() {
    version=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1) || return 1
    version=${version#*version \"}
    version=${version%%[!0-9]*}
    [ "${version:-0}" -ge 17 ]
}

install_java() {
    command -v apt-get >/dev/null 2>&1 && as_root true || return 1
    say "Spark runs on Java; installing the package openjdk-17-jre-headless with apt-get"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless >/dev/null 2>&1 ||
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless >/dev/null 2>&1
}

# Everything but the Spark engine works without Java, so that its absence stops nobody.
find_java() {
    java_works && return 0
    install_java && java_works && return 0
    cat >&2 <<'TEXT'
setup: the Spark engine and its tests need Java 17 or newer, and none was found. Everything else works. To install it:
    sudo apt-get install openjdk-17-jre-headless     (Debian 12, Ubuntu)
    sudo dnf install java-17-openjdk-headless        (Fedora, RHEL 9)
or set JAVA_HOME to one that is not on the PATH.
TEXT
}
