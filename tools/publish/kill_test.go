// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/istio-ecosystem/slipway/tools/fail"
	"github.com/istio-ecosystem/slipway/tools/publish"
	"github.com/istio-ecosystem/slipway/tools/publish/internal/registrytest"
)

// childPlan names the environment variable that makes the test binary a
// program that publishes: what is killed must be a process of its own.
const childPlan = "SLIPWAY_TEST_PUBLISH"

// child is what that program is told.
type child struct {
	Layout, ResultFile string
	Items              []publish.Item
}

func TestMain(m *testing.M) {
	if plan := os.Getenv(childPlan); plan != "" {
		os.Exit(runChild(plan))
	}
	os.Exit(m.Run())
}

func runChild(plan string) int {
	var c child
	if err := json.Unmarshal([]byte(plan), &c); err != nil {
		return fail.Usage
	}

	_, err := publish.Publish(context.Background(), publish.Options{Layout: c.Layout, ResultFile: c.ResultFile, Items: c.Items, Keychain: anonymous{}})
	return fail.Code(err)
}

// TestKilledAtAnyMoment kills a push to two hubs at random moments. Whatever
// the moment: a tag that exists names something complete, and a resume ends
// with everything in place.
func TestKilledAtAnyMoment(t *testing.T) {
	moments := 8
	if os.Getenv("SLIPWAY_TEST_REAL") != "" {
		moments = 50
	}
	if testing.Short() {
		t.Skip("kills processes for some seconds; not in -short")
	}
	whole, _ := killAfter(t, time.Hour)
	phases := map[string]int{}
	for i := range moments {
		// Spread evenly over the push, at a random place of each part, so that
		// few moments still cover all of it.
		at := time.Duration((float64(i) + rand.Float64()) / float64(moments) * float64(whole))
		_, phase := killAfter(t, at)
		phases[phase]++
		if t.Failed() {
			t.Fatalf("killed after %s of %s", at, whole)
		}
	}
	t.Logf("%d kills over %s, by phase: %v", moments, whole, phases)
}

// killAfter starts a push, kills it, checks what is there, resumes, and checks
// again. It returns how long the push ran and the phase that the kill met.
func killAfter(t *testing.T, moment time.Duration) (ran time.Duration, phase string) {
	t.Helper()
	a, b := registrytest.New(t), registrytest.New(t)
	for i, srv := range []*registrytest.Server{a, b} {
		srv.Throttle(int64(250_000 + 100_000*i))
		for j, name := range []string{"/app/", "/proxy/", "/multi/"} {
			srv.Fail(registrytest.On("PUT", name+"manifests/v1"), -1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				time.Sleep(time.Duration(60+130*j+65*i) * time.Millisecond)
				next.ServeHTTP(w, r)
			})
		}
	}
	s := push(t, a, b)
	ran = runAndKill(t, s, moment)
	a.Throttle(0)
	b.Throttle(0)
	a.Heal()
	b.Heal()
	for _, srv := range []*registrytest.Server{a, b} {
		for name, digest := range s.tagsOf(t, srv) { // fails the test on anything incomplete
			if digest != s.all()[name] {
				t.Errorf("tag of %s names %s", name, digest)
			}
		}
	}
	phase = finishKilled(t, s, a, b)
	inPlace(t, s, a, b)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.ResultFile), ".*")); len(left) > 1 {
		t.Errorf("more than the one file in writing was left: %q", left)
	}
	return ran, phase
}

func runAndKill(t *testing.T, s *trial, moment time.Duration) time.Duration {
	t.Helper()
	plan, err := json.Marshal(child{Layout: s.Layout, ResultFile: s.ResultFile, Items: s.Items})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPlan+"="+string(plan))
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	kill.Stop()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
		t.Errorf("the push ended by itself: %v", err)
	}
	return time.Since(start)
}

// finishKilled resumes, and returns the phase that the result file tells of.
func finishKilled(t *testing.T, s *trial, servers ...*registrytest.Server) string {
	t.Helper()
	former, err := publish.ReadResult(s.ResultFile)
	if errors.Is(err, os.ErrNotExist) {
		for _, srv := range servers {
			if srv.Count("PUT", "")+srv.Count("POST", "") != 0 {
				t.Error("something was sent before the result file was there")
			}
		}
		if _, err := publish.Publish(t.Context(), s.Options); err != nil {
			t.Error(err)
		}
		return "before the plan"
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := resume(t, s)
	if err != nil {
		t.Errorf("resume: %v", err)
		return string(former.Phase)
	}
	for _, ref := range r.References {
		if !ref.InPlace() {
			t.Errorf("after the resume: %+v", ref)
		}
	}
	var want []string
	for _, it := range s.Items {
		want = append(want, strings.Join(it.References, " "))
	}
	var got []string
	for i := 0; i+1 < len(r.References); i += 2 {
		got = append(got, r.References[i].Reference+" "+r.References[i+1].Reference)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan after the kill (-want +got):\n%s", diff)
	}
	return string(former.Phase)
}
