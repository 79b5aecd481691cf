// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/istio-ecosystem/slipway/tools/dockerfile"
	"github.com/istio-ecosystem/slipway/tools/fail"
)

var amd64 = v1.Platform{OS: "linux", Architecture: "amd64"}

// bases are the images that tests may start from.
func bases(reference string, _ v1.Platform) (*dockerfile.BaseConfig, error) {
	switch reference {
	case "plain":
		return &dockerfile.BaseConfig{}, nil
	case "base":
		return &dockerfile.BaseConfig{ConfigFile: v1.ConfigFile{Config: v1.Config{
			Env: []string{"PATH=/bin", "HOME=/root"}, WorkingDir: "/srv", User: "7", Cmd: []string{"sh"},
			Labels: map[string]string{"from": "base"},
		}}}, nil
	case "trigger":
		return onBuild("ENV T=1", "COPY x /x"), nil
	case "runner":
		return onBuild("RUN make"), nil
	}
	return nil, fmt.Errorf("there is no image %q", reference)
}

// onBuild is an image that asks its children to do something.
func onBuild(triggers ...string) *dockerfile.BaseConfig {
	return &dockerfile.BaseConfig{ConfigFile: v1.ConfigFile{Config: v1.Config{OnBuild: triggers}}}
}

func evaluate(text string, o dockerfile.Options) (*dockerfile.Result, error) {
	if o.Platform.OS == "" {
		o.Platform = amd64
	}
	f, err := dockerfile.Parse("Dockerfile", []byte(text))
	if err != nil {
		return nil, err
	}
	p, err := f.Plan(o)
	if err != nil {
		return nil, err
	}
	return p.Evaluate(bases)
}

func TestConfig(t *testing.T) {
	scratchEnv := "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, c := range []struct {
		name, text string
		args       map[string]string
		want       v1.Config
	}{
		{"scratch has BuildKit's defaults", "FROM scratch", nil, v1.Config{Env: []string{scratchEnv}, WorkingDir: "/"}},
		{"base is kept", "FROM base", nil, v1.Config{Env: []string{"PATH=/bin", "HOME=/root"}, WorkingDir: "/srv", User: "7", Cmd: []string{"sh"}, Labels: map[string]string{"from": "base"}}},
		{"ENV replaces in place", "FROM plain\nENV A=1 B=2\nENV A=3 C=$A-${B:-x}-${Z:+y}-${Z-none}", nil, v1.Config{Env: []string{"A=3", "B=2", "C=1-2--none"}}},
		{"ENV sees the base", "FROM base\nENV PATH=$PATH:/x\nUSER 1\nCMD [\"a\"]\nLABEL from=me", nil,
			v1.Config{Env: []string{"PATH=/bin:/x", "HOME=/root"}, WorkingDir: "/srv", User: "1", Cmd: []string{"a"}, ArgsEscaped: true, Labels: map[string]string{"from": "me"}}},
		{"ENV prefix and suffix", "FROM plain\nENV F=a.tar.gz\nENV A=${F%.gz} B=${F%%.*} C=${F#*.} D=${F##*.} E=${F/tar/zip}", nil,
			v1.Config{Env: []string{"F=a.tar.gz", "A=a.tar", "B=a", "C=tar.gz", "D=gz", "E=a.zip.gz"}}},
		{"ARG default, passed and inherited", "ARG G=g\nARG P=p\nFROM plain\nARG G\nARG P\nARG D=d-$G\nARG N\nENV X=$G.$P.$D.$N.", map[string]string{"P": "passed"},
			v1.Config{Env: []string{"X=g.passed.d-g.."}}},
		{"ARG of another stage is not seen", "FROM plain AS a\nARG A=1\nFROM plain\nENV X=[$A]", nil, v1.Config{Env: []string{"X=[]"}}},
		{"global ARG without ARG in the stage is not seen", "ARG G=1\nFROM plain\nENV X=[$G]", nil, v1.Config{Env: []string{"X=[]"}}},
		{"platform arguments need ARG", "FROM plain\nENV A=[$TARGETARCH]\nARG TARGETARCH\nARG TARGETPLATFORM\nENV B=$TARGETARCH C=$TARGETPLATFORM", nil,
			v1.Config{Env: []string{"A=[]", "B=amd64", "C=linux/amd64"}}},
		{"WORKDIR joins", "FROM plain\nWORKDIR a\nWORKDIR b/../c\nENV D=/opt\nWORKDIR $D/x", nil, v1.Config{Env: []string{"D=/opt"}, WorkingDir: "/opt/x"}},
		{"ENTRYPOINT resets the base's CMD", "FROM base\nENTRYPOINT [\"e\"]", nil,
			v1.Config{Env: []string{"PATH=/bin", "HOME=/root"}, WorkingDir: "/srv", User: "7", Entrypoint: []string{"e"}, Labels: map[string]string{"from": "base"}}},
		{"ENTRYPOINT keeps this stage's CMD", "FROM plain\nCMD [\"c\"]\nENTRYPOINT [\"e\"]", nil, v1.Config{Entrypoint: []string{"e"}, Cmd: []string{"c"}, ArgsEscaped: true}},
		{"shell forms", "FROM plain\nSHELL [\"/bin/bash\",\"-c\"]\nENTRYPOINT run it $X", nil, v1.Config{Shell: []string{"/bin/bash", "-c"}, Entrypoint: []string{"/bin/bash", "-c", "run it $X"}}},
		{"default shell", "FROM plain\nCMD echo hi", nil, v1.Config{Cmd: []string{"/bin/sh", "-c", "echo hi"}, ArgsEscaped: true}},
		{"EXPOSE", "FROM plain\nARG P=80\nEXPOSE $P 53/udp 9000-9002", nil,
			v1.Config{ExposedPorts: map[string]struct{}{"80/tcp": {}, "53/udp": {}, "9000/tcp": {}, "9001/tcp": {}, "9002/tcp": {}}}},
		{"VOLUME and STOPSIGNAL", "FROM plain\nVOLUME /a /b\nSTOPSIGNAL SIGINT", nil, v1.Config{Volumes: map[string]struct{}{"/a": {}, "/b": {}}, StopSignal: "SIGINT"}},
		{"USER expands", "FROM plain\nARG U=1337\nUSER $U:$U", nil, v1.Config{User: "1337:1337"}},
		{"stage on a stage", "FROM base AS a\nENV A=1\nFROM a\nENV B=$A", nil,
			v1.Config{Env: []string{"PATH=/bin", "HOME=/root", "A=1", "B=1"}, WorkingDir: "/srv", User: "7", Cmd: []string{"sh"}, Labels: map[string]string{"from": "base"}}},
		{"escape directive", "# escape=`\nFROM plain\nENV A=1 `\n  B=2", nil, v1.Config{Env: []string{"A=1", "B=2"}}},
		{"CRLF and BOM", "\ufeffFROM plain\r\nENV A=1\r\n", nil, v1.Config{Env: []string{"A=1"}}},
		{"ONBUILD is kept for children", "FROM plain\nONBUILD RUN make", nil, v1.Config{OnBuild: []string{"RUN make"}}},
		{"ONBUILD of the base runs", "FROM trigger\nENV U=$T", nil, v1.Config{Env: []string{"T=1", "U=1"}}},
		{"HEALTHCHECK", "FROM plain\nHEALTHCHECK NONE", nil, v1.Config{Healthcheck: &v1.HealthConfig{Test: []string{"NONE"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := evaluate(c.text, dockerfile.Options{Args: c.args})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.Config); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       dockerfile.Copy
	}{
		{"one file", "COPY a /b", dockerfile.Copy{Sources: []string{"a"}, Dest: "/b"}},
		{"folder", "COPY a b/ c* /d/", dockerfile.Copy{Sources: []string{"a", "b", "c*"}, Dest: "/d/"}},
		{"relative", "COPY a b", dockerfile.Copy{Sources: []string{"a"}, Dest: "/w/b"}},
		{"dot", "COPY . .", dockerfile.Copy{Sources: []string{""}, Dest: "/w/"}},
		{"root", "COPY / /", dockerfile.Copy{Sources: []string{""}, Dest: "/"}},
		{"out of the context", "COPY ../../etc/passwd /p", dockerfile.Copy{Sources: []string{"etc/passwd"}, Dest: "/p"}},
		{"variables", "COPY ${V}/x /$V", dockerfile.Copy{Sources: []string{"v/x"}, Dest: "/v"}},
		{"flags", "COPY --chown=1:2 --chmod=0755 --link a /b", dockerfile.Copy{Sources: []string{"a"}, Dest: "/b", Chown: "1:2", Chmod: "0755", Link: true}},
		{"JSON form", `COPY ["a b", "/c d"]`, dockerfile.Copy{Sources: []string{"a b"}, Dest: "/c d"}},
		{"ADD", "ADD a.tar.gz /b/", dockerfile.Copy{Sources: []string{"a.tar.gz"}, Dest: "/b/", Unpack: true}},
		{"heredoc", "COPY <<A /f\nx $V\nA", dockerfile.Copy{Heredocs: []dockerfile.Heredoc{{Name: "A", Content: "x v\n"}}, Dest: "/f"}},
		{"quoted heredoc", "COPY <<'A' /f\nx $V\nA", dockerfile.Copy{Heredocs: []dockerfile.Heredoc{{Name: "A", Content: "x $V\n"}}, Dest: "/f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := evaluate("FROM plain\nENV V=v\nWORKDIR /w\n"+c.line, dockerfile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.want.Line = 4
			if diff := cmp.Diff(&c.want, r.Steps[len(r.Steps)-1].Copy); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestHistoryText(t *testing.T) {
	r, err := evaluate(`FROM plain
LABEL description="a b"
ARG TARGETARCH
COPY ${TARGETARCH:-x}/istioctl /usr/local/bin/istioctl
ENV A=b C="d e"
WORKDIR /x
EXPOSE 80
CMD ["/run", "it"]
`, dockerfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Steps {
		got = append(got, s.CreatedBy)
	}
	want := []string{
		"LABEL description=a b", "ARG TARGETARCH=amd64", "COPY amd64/istioctl /usr/local/bin/istioctl # buildkit",
		"ENV A=b C=d e", "WORKDIR /x", "EXPOSE [80/tcp]", `CMD ["/run" "it"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestPruning(t *testing.T) {
	const text = `ARG DIST=debug
FROM registry.example/base AS debug
FROM registry.example/distroless AS distroless
FROM golang AS tool
RUN go build
FROM plain AS files
COPY f /f
FROM ${DIST:-debug}
COPY --from=files /f /f
COPY --from=other.example/x /y /y
`
	f, err := dockerfile.Parse("Dockerfile", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(dockerfile.Options{Platform: amd64, Args: map[string]string{"DIST": "distroless"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.Bases() {
		got = append(got, b.Reference)
	}
	if diff := cmp.Diff([]string{"registry.example/distroless", "plain", "other.example/x"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if o := p.Obstacles(); len(o) > 0 {
		t.Errorf("obstacles %v, want none", o)
	}
	p, err = f.Plan(dockerfile.Options{Platform: amd64, Target: "tool"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Evaluate(bases)
	if want := "Dockerfile:5: RUN go build: RUN needs a builder that can run programs"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "Dockerfile is empty"},
		{"only comments", "# x\n", "Dockerfile:1: file with no instructions"},
		{"no FROM", "ENV A=1", "Dockerfile:1: no build stage in current context"},
		{"unknown instruction", "FROM plain\nCOPPY a b", "Dockerfile:2: unknown instruction: COPPY (did you mean COPY?)"},
		{"COPY with one argument", "FROM plain\nCOPY a", "Dockerfile:2: COPY requires at least two arguments, but only one was provided. Destination could not be determined"},
		{"FROM without value", "FROM ${NOPE}", "Dockerfile:1: FROM ${NOPE}: NOPE has no value; declare it with ARG before the first FROM, or pass it as a build argument"},
		{"FROM empty value", "ARG A=\nFROM ${A}", "Dockerfile:2: FROM ${A} names nothing once its variables are expanded"},
		{"base is not there", "FROM nope", `Dockerfile:1: FROM nope: there is no image "nope"`},
		{"COPY from itself", "FROM plain AS a\nCOPY --from=a x y", "Dockerfile:2: COPY --from=a: that stage comes later, or is this one"},
		{"COPY from a number", "FROM plain\nCOPY --from=3 x y", "Dockerfile:2: COPY --from=3: there is no stage of that number before this one"},
		{"several sources, no folder", "FROM plain\nCOPY a b /c", `Dockerfile:2: COPY a b /c: several sources need a folder to go to: end "/c" with a slash`},
		{"ADD URL", "FROM plain\nADD https://x.example/a /a", "Dockerfile:2: ADD https://x.example/a /a: ADD from the network needs a builder; download it first, or COPY it from an image"},
		{"RUN twice", "FROM plain\nRUN a\nRUN b", "Dockerfile:2: RUN a: RUN needs a builder that can run programs\nDockerfile:3: RUN b: RUN needs a builder that can run programs"},
		{"RUN of the base", "FROM runner", "Dockerfile:1: ONBUILD RUN make of runner: RUN needs a builder that can run programs"},
		{"other frontend", "# syntax=example.com/my/frontend\nFROM plain", "Dockerfile:1: # syntax=example.com/my/frontend: another frontend reads this file"},
		{"bad port", "FROM plain\nEXPOSE 70000", `Dockerfile:2: EXPOSE 70000: port "70000": a port is a number up to 65535, or two with - between them`},
		{"bad platform", "FROM --platform=a/b/c/d plain", `Dockerfile:1: reading the platform "a/b/c/d": too many slashes in platform spec: a/b/c/d`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evaluate(c.text, dockerfile.Options{})
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if fail.Code(err) != fail.Usage && c.name != "base is not there" {
				t.Errorf("code %d, want %d", fail.Code(err), fail.Usage)
			}
		})
	}
	f, _ := dockerfile.Parse("Dockerfile", []byte("FROM plain AS a\nFROM plain"))
	if _, err := f.Plan(dockerfile.Options{Target: "zz"}); err == nil || err.Error() != `Dockerfile: there is no stage "zz"; it has a, 1` {
		t.Errorf("unknown target: %v", err)
	}
}

func TestUnusedArguments(t *testing.T) {
	r, err := evaluate("ARG A\nFROM plain AS x\nARG C\nFROM plain\nARG B", dockerfile.Options{Args: map[string]string{"A": "", "B": "", "C": "", "D": "", "http_proxy": "", "TARGETARCH": "x"}})
	if err != nil || strings.Join(r.Unused, " ") != "D" {
		t.Errorf("unused %v, error %v; want D", r.Unused, err)
	}
}

func TestIgnore(t *testing.T) {
	i, err := dockerfile.ParseIgnore([]byte("# c\n*.md\n!README.md\nout/\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"a.md": true, "README.md": false, "out/x/y": true, "src/a.go": false} {
		if got, err := i.Excluded(path); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add("ARG A=1\nFROM base AS x\nCOPY --from=x a* /b/\nENV A=${B:-c}\nEXPOSE 1-3")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := evaluate(text, dockerfile.Options{}); err != nil && errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
	})
}
