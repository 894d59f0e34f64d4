#!/bin/sh
# Prints the path of a Chromium, and installs one from the distribution's packages if none is
# installed. CHROMIUM is the path of the browser to use.
set -eu

find_browser() {
	for name in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
		"/Applications/Chromium.app/Contents/MacOS/Chromium"; do
		if path=$(command -v "$name" 2>/dev/null); then
			echo "$path"
			return 0
		fi
	done
	return 1
}

install_browser() {
	sudo=""
	[ "$(id -u)" -eq 0 ] || sudo="sudo -n"
	if command -v apt-get >/dev/null; then
		$sudo apt-get update -qq && $sudo apt-get install -y -qq chromium
	elif command -v dnf >/dev/null; then
		$sudo dnf install -y -q chromium
	elif command -v apk >/dev/null; then
		$sudo apk add --quiet chromium
	elif command -v brew >/dev/null; then
		brew install --quiet --cask chromium
	else
		return 1
	fi
}

find_browser && exit 0
echo "browser: none found; installing chromium from the distribution's packages" >&2
install_browser >/dev/null 2>&1 || true
find_browser || {
	echo "browser: none found and none could be installed; install Chromium, or set CHROMIUM to the path of one" >&2
	exit 1
}
