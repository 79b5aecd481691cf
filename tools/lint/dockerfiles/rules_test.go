// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/istio-ecosystem/slipway/tools/lint"
	"github.com/istio-ecosystem/slipway/tools/lint/dockerfiles"
)

// check returns what is found as LINE:RULE.
func check(t testing.TB, config, text string) []string {
	t.Helper()
	c, err := dockerfiles.ReadConfig(".hadolint.yml", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	found, err := dockerfiles.New(c).Check("Dockerfile", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%d:%s", f.Line, f.Rule))
	}
	return got
}

const aptClean = "&& rm -rf /var/lib/apt/lists/*"

// Each rule: texts that break it (and nothing else), and texts that do not.
func TestRules(t *testing.T) {
	f := "FROM debian:12\n"
	for _, c := range []struct {
		text string
		want string // LINE:RULE, separated by blanks
	}{
		{f + "WORKDIR usr/src", "2:DL3000"},
		{f + "WORKDIR /usr/src\nWORKDIR $HOME\nWORKDIR \"/a b\"\nWORKDIR C:\\x\nWORKDIR ${HOME}/x", ""},
		{f + "RUN service x start", "2:DL3001"},
		{f + "RUN echo ssh && /usr/bin/tool kill", ""},
		{f + "USER root", "2:DL3002"}, {f + "USER 0:0", "2:DL3002"}, {f + "USER root\nRUN x\nUSER app", ""},
		{"FROM debian:12 AS a\nUSER root\nFROM a\nRUN x", "2:DL3002"},
		{"FROM debian:12 AS a\nUSER root\nFROM debian:12\nRUN x", ""},
		{f + "RUN cd /x && ls", "2:DL3003"}, {f + "RUN echo cd", ""},
		{f + "RUN sudo ls", "2:DL3004"}, {f + "ONBUILD RUN sudo ls", "2:DL3004"},
		{"FROM debian", "1:DL3006"}, {"FROM a/b", "1:DL3006"}, {"FROM localhost:5000/b", "1:DL3006"},
		{"FROM scratch", ""}, {"FROM debian:12 AS Build\nFROM build", ""}, {"FROM a@sha256:" + strings.Repeat("a", 64), ""},
		{"FROM debian:latest", "1:DL3007"}, {"FROM debian:latest@sha256:" + strings.Repeat("a", 64), ""},
		{"ARG T=1\nFROM debian:${T:-latest}\nFROM ${R:-x:5}/y\nFROM debian:$T", ""},
		{f + "RUN apt-get update && apt-get install -y --no-install-recommends curl " + aptClean, "2:DL3008"},
		{f + "RUN apt-get update && apt-get -y -t stable install --no-install-recommends curl=7 git/stable ./a.deb " + aptClean, ""},
		{f + "RUN apt-get update", "2:DL3009"},
		{f + "RUN --mount=type=cache,target=/var/lib/apt apt-get update", ""},
		{"FROM debian:12 AS a\nRUN apt-get update\nFROM debian:12\nCOPY --from=a /x /x", ""},
		{"FROM debian:12 AS a\nRUN apt-get update\nFROM a", "2:DL3009"},
		{f + "COPY x.tar.gz /tmp/\nRUN tar -xzf /tmp/x.tar.gz", "2:DL3010"},
		{f + "COPY x.tar.gz /tmp/\nRUN tar xf /tmp/x.tar.gz", "2:DL3010"},
		{f + "COPY x.tar.gz /tmp/\nRUN tar -czf /tmp/y.tar.gz /tmp/x.tar.gz", ""},
		{f + "EXPOSE 80 70000", "2:DL3011"}, {f + "EXPOSE 80/tcp 1-9 $P 65535", ""}, {f + "EXPOSE 5-80000", "2:DL3011"},
		{f + "HEALTHCHECK CMD a\nHEALTHCHECK CMD b", "3:DL3012"}, {"FROM a:1\nHEALTHCHECK NONE\nFROM b:1\nHEALTHCHECK NONE", ""},
		{f + "RUN pip install --no-cache-dir x", "2:DL3013"}, {f + "RUN python3 -m pip install --no-cache-dir x", "2:DL3013"},
		{f + "RUN pip3 install --no-cache-dir -i https://a/b 'x==1' \"y>=2\" z@git+https://a . -r r.txt ./w.whl", ""},
		{f + "RUN pip install --no-cache-dir --index-url https://a x~=2 && pip freeze", ""},
		{f + "RUN apt-get install --no-install-recommends x=1", "2:DL3014"}, {f + "RUN apt-get install -qq --no-install-recommends x=1", ""},
		{f + "RUN apt-get install -y x=1", "2:DL3015"}, {f + "RUN apt-get install -y -o APT::Install-Recommends=false x=1", ""},
		{f + "RUN npm install -g x", "2:DL3016"}, {f + "RUN npm install && npm install @a/b@1 x@2 git://a/b#v1 ./c d.tgz && npm ci", ""},
		{f + "RUN npm install @a/b", "2:DL3016"},
		{f + "RUN apk add --no-cache x", "2:DL3018"}, {f + "RUN apk add --no-cache -t v x=1 'y~2' 'z>3' w.apk", ""},
		{f + "RUN apk add x=1", "2:DL3019"}, {f + "RUN --mount=type=cache,target=/var/cache/apk apk add x=1", ""},
		{f + "ADD x /y", "2:DL3020"}, {f + "ADD x.tar.xz https://a/b git@github.com:a/b.git /y/", ""},
		{f + "COPY a b /c", "2:DL3021"}, {f + "COPY a b /c/\nCOPY a /c\nCOPY [\"a\", \"b\", \"/c/\"]", ""},
		{f + "COPY --from=x a /b", "2:DL3022"}, {"FROM a:1 AS x\nFROM b:1\nCOPY --from=x a /b\nCOPY --from=0 a /b\nCOPY --from=c:1 a /b", ""},
		{f + "COPY --from=7 a /b", "2:DL3022"},
		{"FROM a:1 AS x\nCOPY --from=x a /b", "2:DL3023"},
		{"FROM a:1 AS x\nFROM b:1 AS x", "2:DL3024"},
		{f + "CMD echo x", "2:DL3025"}, {f + "ENTRYPOINT echo x", "2:DL3025"}, {f + "CMD [\"a\"]\nENTRYPOINT [\"b\"]", ""},
		{f + "RUN apt list", "2:DL3027"},
		{f + "RUN gem install x", "2:DL3028"}, {f + "RUN gem install x:1 && gem install y -v 2 && gem install z:1 -- --with-x", ""},
		{"FROM --platform=linux/amd64 a:1", "1:DL3029"}, {"FROM --platform=$BUILDPLATFORM a:1", ""},
		{f + "RUN yum install x-1 && yum clean all", "2:DL3030"}, {f + "RUN yum install -y x-1", "2:DL3032"},
		{f + "RUN yum install -y x && yum clean all", "2:DL3033"}, {f + "RUN yum -y install x-1 y.rpm && rm -rf /var/cache/yum", ""},
		{f + "RUN zypper install x=1 && zypper clean", "2:DL3034"}, {f + "RUN zypper dup", "2:DL3035"},
		{f + "RUN zypper -n in x=1", "2:DL3036"}, {f + "RUN zypper in -y x && zypper cc", "2:DL3037"}, {f + "RUN zypper in -y x=1 'y>=2' && zypper clean -a", ""},
		{f + "RUN dnf install x-1 && dnf clean all", "2:DL3038"}, {f + "RUN microdnf install -y x-1", "2:DL3040"},
		{f + "RUN dnf install -y x && dnf clean all", "2:DL3041"}, {f + "RUN dnf module install -y x:1 && dnf clean all", ""},
		{f + "RUN pip install x==1", "2:DL3042"}, {f + "ENV PIP_NO_CACHE_DIR=1\nRUN pip install x==1", ""},
		{f + "RUN PIP_NO_CACHE_DIR=1 pip install x==1", ""}, {f + "RUN --mount=type=cache,target=/root/.cache/pip pip install x==1", ""},
		{f + "ONBUILD FROM x", "2:DL3043"}, {f + "ONBUILD ONBUILD RUN x", "2:DL3043"},
		{f + "ENV A=1 B=$A", "2:DL3044"}, {f + "ENV A=1\nENV A=2 B=${A} PATH=/x:$PATH C=\\$B", ""},
		{f + "COPY x y", "2:DL3045"}, {f + "WORKDIR /a\nCOPY x y\nCOPY x .", ""}, {"FROM a:1 AS x\nWORKDIR /a\nFROM x\nCOPY x y", ""},
		{f + "RUN useradd -u 123456 x", "2:DL3046"}, {f + "RUN useradd -l -u 123456 x && useradd -u 1000 y", ""},
		{f + "RUN wget https://a", "2:DL3047"}, {f + "RUN wget -q https://a && wget --progress=dot:giga https://b && wget -nv https://c", ""},
		{f + "LABEL Big=1", "2:DL3048"}, {f + "LABEL org.opencontainers.image.title=1 a-b=2", ""},
		{f + "RUN a\nRUN b", "3:DL3059"}, {f + "RUN a\n# c\nRUN b && c\nENV x=1\nRUN d", ""}, {f + "RUN a\nRUN --network=none b", ""},
		{f + "RUN yarn install", "2:DL3060"}, {f + "RUN yarn install && yarn cache clean", ""},
		{"RUN a\nFROM b:1", "1:DL3061"}, {"ARG A\n# c\nFROM b:1", ""},
		{f + "RUN go install a.io/b", "2:DL3062"}, {f + "RUN go install a.io/b@latest", "2:DL3062"}, {f + "RUN go install -tags x a.io/b@v1 ./... && go install", ""},
		{f + "MAINTAINER me", "2:DL4000"},
		{f + "RUN curl a && b\nRUN wget -q c && d", "3:DL4001"}, {"FROM a:1\nRUN curl a\nFROM b:1\nRUN wget -q c", ""},
		{f + "CMD [\"a\"]\nCMD [\"b\"]", "3:DL4003"}, {f + "ENTRYPOINT [\"a\"]\nENTRYPOINT [\"b\"]", "3:DL4004"},
		{f + "RUN ln -sf /bin/bash /bin/sh", "2:DL4005"},
		{f + "RUN a | b", "2:DL4006"}, {f + "SHELL [\"/bin/bash\", \"-eo\", \"pipefail\", \"-c\"]\nRUN a | b", ""},
		{f + "SHELL [\"/bin/sh\", \"-o\", \"pipefail\", \"-c\"]\nRUN a | b", "3:DL4006"},
		{f + "SHELL [\"pwsh\", \"-Command\"]\nRUN a | b -(", ""}, {f + "# hadolint shell=powershell\nRUN a | (b", ""},
		{f + "RUN <<EOF\nsudo ls\nEOF", "2:DL3004"}, {f + "RUN <<EOF\n#!/usr/bin/env python3\nif (sudo ls\nEOF", ""},
		{f + "RUN cat <<EOF > /x\nsudo ls (\nEOF", ""}, {f + "RUN [\"sudo\", \"ls\"]", "2:DL3004"},
		{f + "RUN a (", "2:DL1000"}, {f + "NONSENSE x\nCOPY", "2:DL1000"}, {"", "1:DL1000"}, {f + "RUN <<EOF\nx", "2:DL1000"},
	} {
		if got := strings.Join(check(t, "", c.text), " "); got != c.want {
			t.Errorf("%s\nfound %q, want %q", c.text, got, c.want)
		}
	}
}

func TestComments(t *testing.T) {
	for _, c := range []struct{ config, text, want string }{
		{"", "# hadolint ignore=DL3006\nFROM a\nFROM b", "3:DL3006"},
		{"", "# hadolint ignore=DL3006 , DL3007 # because\n\n# more\nFROM a", ""},
		{"", "#hadolint global ignore=DL3006\nFROM a\nFROM b", ""},
		{"", "# hadolintx ignore=DL3006\nFROM a", "2:DL3006"},
		{"", "FROM a:1\nRUN x \\\n# hadolint ignore=DL3006\n y\nFROM b", "5:DL3006"},
		{"", "FROM a:1\r\nWORKDIR x\r\n# hadolint ignore=DL3006\r\nFROM b\r\nRUN a \\\r\n | b\r\n", "2:DL3000 5:DL4006"},
		{"", "\ufeff# hadolint ignore=DL3006\nFROM a", ""},
		{"", "# escape=`\nFROM a:1\nRUN a | (b\n", ""}, {"", "FROM x.com/windows/nanoserver:1\nRUN a | (b\n", ""},
		{"disable-ignore-pragma: true", "# hadolint ignore=DL3006\nFROM a", "2:DL3006"},
		{"override: {warning: [DL1001]}", "# hadolint ignore=DL3006\nFROM a", "1:DL1001"},
		{"override: {info: [DL3057]}", "FROM a:1", "1:DL3057"},
		{"ignored: [DL3006]", "FROM a", ""},
		{"trustedRegistries: [quay.io, \"*.dev\"]", "FROM a:1\nFROM quay.io/a:1\nFROM x.pkg.dev/a:1\nFROM ${R}/a:1\nFROM scratch", "1:DL3026"},
		{"trustedRegistries: docker.io", "FROM a:1\nFROM index.docker.io/a:1\nFROM gcr.io/x:1", "3:DL3026"},
		{"label-schema: {a: semver, b: rfc3339, c: url, d: hash, e: spdx, f: email, g: text}",
			"FROM a:1\nLABEL a=1 b=2 c=3 d=4 e=\"A B\" f=6 g=\"\"", "2:DL3056 2:DL3053 2:DL3052 2:DL3055 2:DL3054 2:DL3058 2:DL3051"},
		{"label-schema: {a: semver, b: rfc3339, c: url, d: hash, e: spdx, f: email, g: text}",
			"FROM a:1\nLABEL a=1.2.3-rc.1 b=2020-01-02T03:04:05Z c=https://a.b d=0123456 e=\"MIT OR (Apache-2.0 WITH LLVM-exception)\" f=a@b.c g=x", ""},
		{"{strict-labels: true, label-schema: {a: text}}", "FROM a:1\nLABEL b=1", "1:DL3049 2:DL3050"},
	} {
		if got := strings.Join(check(t, c.config, c.text), " "); got != c.want {
			t.Errorf("%s\n%s\nfound %q, want %q", c.config, c.text, got, c.want)
		}
	}
}

// A base from a build argument is not called untagged.
func TestC114(t *testing.T) {
	if got := check(t, "", "ARG B=alpine:3.7\nFROM $B\n"); got != nil {
		t.Error(got)
	}
}

// Arguments over several lines are known.
func TestC115(t *testing.T) {
	if got := check(t, "", "FROM a:1\nARG a=1 \\\n  b=2\nRUN echo \"$a $b\"\n"); got != nil {
		t.Error(got)
	}
}

func TestSeverity(t *testing.T) {
	const text = "FROM a\nLABEL Big=1\nWORKDIR x\n"
	for config, want := range map[string]string{
		"":                                    "error notice error",
		"failure-threshold: style":            "error error error",
		"failure-threshold: error":            "notice notice error",
		"failure-threshold: none":             "error error error",
		"no-fail: true":                       "notice notice notice",
		"override: {style: [DL3006, DL3000]}": "notice notice notice",
		"override:\n  error:\n    - DL3048\n": "error error error",
		"{failure-threshold: warning, format: tty, no-color: true}": "error notice error",
	} {
		c, err := dockerfiles.ReadConfig("x", []byte(config))
		if err != nil {
			t.Fatal(err)
		}
		found, err := dockerfiles.New(c).Check("a/Dockerfile", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, string(f.Severity))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", config, got, want)
		}
	}
	found, _ := dockerfiles.New(nil).Check("a/Dockerfile", []byte("FROM x"))
	if len(found) != 1 || found[0].String() != "a/Dockerfile:1 DL3006 warning: the image x has no tag: name its version" || found[0].Severity != lint.Error {
		t.Error(found)
	}
}

func TestReadConfig(t *testing.T) {
	for text, want := range map[string]string{
		"ignored: [DL3008]\nignore: [x]\n": `c.yml:2: the key "ignore" is not known`,
		"override:\n  fatal: [DL3008]\n":   `c.yml:2: override has no level "fatal"`,
		"ignored:\n  - DL3\n":              `c.yml:2: "DL3" is no rule`,
		"failure-threshold: bad\n":         "c.yml:1: failure-threshold",
		"- a\n":                            "c.yml:1: the file has to be a mapping",
		"label-schema:\n  a: b\n":          "c.yml:2: the label",
		"no-fail: maybe\n":                 `c.yml:1: "maybe" is neither`,
		"a: [\n":                           "c.yml: ",
		"ignored: {a: b}\n":                "c.yml:1: a list",
	} {
		_, err := dockerfiles.ReadConfig("c.yml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "# only a comment\n", "---\n", "ignored:\n"} {
		if _, err := dockerfiles.ReadConfig("c.yml", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Nothing takes more than linear time, or ends the program.
func TestLarge(t *testing.T) {
	const size = 1 << 20
	long := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, text := range []string{
		"FROM a:1\nRUN " + long("("), "FROM a:1\nRUN " + long("$("), "FROM a:1\nRUN " + long("a|"), "FROM a:1\nRUN " + long("if "),
		"FROM a:1\nRUN " + long("a "), "FROM a:1\nENV a=" + long("$a"), "FROM " + long("${"), "FROM a:1\nRUN a" + long(" && a"),
		long("FROM a AS b\n"), "FROM a:1\n" + long("RUN a b\n"), long("# hadolint ignore=DL3006\n") + "FROM a", "FROM a:1\n" + long("ENV a=$b\n"),
		"FROM a:1\nLABEL " + long("a=b "), "FROM a:1\nENV " + long("a=$b "), "FROM a:1\n" + long("COPY a.gz /\n") + "RUN gunzip a.gz",
		long("# hadolint global ignore=DL3001\nFROM a\n"), "FROM a:1\nENV " + long("a=$b \\\n"), "FROM a:1 AS b\n" + long("ENV x=1\nFROM b AS b\n"),
		"FROM a:1\nRUN " + long("( \\\n"), "FROM a:1\nRUN " + long("a \\\n"), "FROM a:1\nRUN a " + long("| a \\\n"), "FROM a:1\nRUN pip install " + long("x==1 \\\n"),
		"FROM a:1\nLABEL " + long("a=b \\\n"), "FROM a:1\nRUN <<E\n" + long("a | apt-get update\n") + "E\n", "FROM a:1\nEXPOSE " + long("1 \\\n"), "FROM a:1\nCOPY " + long("x.gz \\\n") + " /y/",
		"FROM a:1\nRUN pip install " + long("x==1 "),
	} {
		start := time.Now()
		_, err := dockerfiles.New(nil).Check("Dockerfile", []byte(text))
		t.Logf("%.30q %v %v", text, time.Since(start), err) // if it is not linear, the test does not end
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"FROM a\nRUN a | b\n", "# hadolint ignore=DL3006\nFROM ${a:-b}", "FROM a\nONBUILD RUN <<E\nx\nE\n", "# escape=`\nFROM a\nENV a=$b b=${a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := dockerfiles.New(nil).Check("Dockerfile", []byte(text))
		if err != nil {
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, x := range found {
			if x.Line < 1 || x.Line > lines || strings.Contains(x.Message, "\n") {
				t.Errorf("%q: %+v", text, x)
			}
		}
		if !slices.IsSortedFunc(found, func(a, b lint.Finding) int { return a.Line - b.Line }) {
			t.Errorf("%q: not sorted", text)
		}
	})
}
