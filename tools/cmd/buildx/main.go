// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

// Command buildx gives Slipway what only the libraries of docker/buildx know:
// the builders of the user, and bake files. Slipway compiles it when it is
// needed first and runs it as a process. Results are JSON on standard output
// (dial: the connection itself); all else goes to standard error. The exit
// codes are those of package fail.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/ui"
)

const usage = `usage: Slipway runs this program; by hand:
  buildx dial --builder NAME [--platform OS/ARCH]
      connects standard input and output with the BuildKit of a builder
  buildx inspect --builder NAME
      prints what the builder is and what its nodes can build
  buildx bake -f FILE [-f FILE] [--set TARGET.KEY=VALUE] [--var NAME=VALUE] TARGET...
      prints what the targets of bake files mean`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// streams are what the program reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run carries one command out and returns the exit code.
func run(ctx context.Context, args []string, s streams) int {
	console := ui.New(s.out, s.err, ui.Options{})
	logrus.SetOutput(s.err) // where the libraries put their warnings
	err := dispatch(ctx, args, s)
	if err != nil {
		console.Error("%v", err)
	}
	return fail.Code(err)
}

func dispatch(ctx context.Context, args []string, s streams) error {
	if len(args) == 0 {
		return fail.With(fail.Usage, fmt.Errorf("no command is given\n%s", usage))
	}
	switch name, rest := args[0], args[1:]; name {
	case "dial":
		return dialCommand(ctx, rest, s)
	case "inspect":
		return inspectCommand(ctx, rest, s)
	case "bake":
		return bakeCommand(ctx, rest, s)
	default:
		return fail.With(fail.Usage, fmt.Errorf("the command is %q: use dial, inspect or bake\n%s", name, usage))
	}
}

// parse reads the flags of a command. What is left over is for commands that
// take targets; the others take nothing.
func parse(flags *flag.FlagSet, args []string, takesTargets bool) error {
	flags.SetOutput(io.Discard) // the error is printed once, by run
	if err := flags.Parse(args); err != nil {
		return fail.With(fail.Usage, fmt.Errorf("reading the flags of %s: %w\n%s", flags.Name(), err, usage))
	}
	if !takesTargets && flags.NArg() > 0 {
		return fail.With(fail.Usage, fmt.Errorf("%s takes flags only, and got %q\n%s", flags.Name(), flags.Args(), usage))
	}
	return nil
}

// printJSON writes a result.
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // digests and references read better, and nothing is put into a page
	e.SetIndent("", "  ")
	if err := e.Encode(result); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
