// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"github.com/istio-ecosystem/slipway/tools/catalog"
	"github.com/istio-ecosystem/slipway/tools/goal"
)

type aGoal = goal.Goal[*wants]

// goals is everything that can be asked for. The names are those of the make
// files of istio/istio; what is new has a place of its own in help.
func goals() []aGoal {
	var all []aGoal
	for _, group := range [][]aGoal{buildGoals(), imageGoals(), releaseGoals(), checkGoals(), lintGoals(), infoGoals(), benchGoals(), handedGoals()} {
		all = append(all, group...)
	}
	return all
}

const (
	groupBuild  = "Build"
	groupImages = "Images"
	groupCheck  = "Test and check"
	groupLint   = "Lint"
	groupInfo   = "Look"
	groupBench  = "Measure"
	groupHanded = "Done by the repository's own make file"
)

// want is a goal that adds to artifacts.
func want(add func(a *artifacts, stem string)) func(*wants, string) error {
	return func(w *wants, stem string) error {
		add(w.artifacts(), stem)
		return nil
	}
}

func buildGoals() []aGoal {
	group := func(g catalog.Group) func(*wants, string) error {
		return want(func(a *artifacts, _ string) { a.group(g); a.prebuilt(welcome) })
	}
	all := []aGoal{
		{Name: DefaultGoal, Group: groupBuild, Summary: "init, build and test", Want: func(w *wants, _ string) error {
			w.artifacts().group(catalog.GroupBuild)
			w.artifacts().prebuilt(welcome)
			return w.test(false)
		}},
		{Name: "build", Group: groupBuild, Summary: "compile the standard binaries and the agent for TARGET_OS and TARGET_ARCH", Want: group(catalog.GroupBuild)},
		{Name: "build-linux", Group: groupBuild, Summary: "compile all binaries that go into images", Want: group(catalog.GroupLinux)},
		{Name: "build-cni", Group: groupBuild, Summary: "compile the CNI binaries", Want: want(func(a *artifacts, _ string) { a.group(catalog.GroupCNI) })},
		{Name: "init", Aliases: []string{"depend"}, Group: groupBuild, Summary: "fetch Envoy and ztunnel", Want: want(func(a *artifacts, _ string) { a.prebuilt(needed) })},
		{Name: "init-ztunnel-rs", Group: groupBuild, Want: want(func(a *artifacts, _ string) { a.prebuilt(needed) })},
		{Name: "istioctl-install-container", Group: groupBuild, Want: want(func(a *artifacts, _ string) { a.binaries = append(a.binaries, "istioctl") })},
		{Name: "istioctl-install", Group: groupBuild, Summary: "compile istioctl and copy it to GOBIN", Want: (*wants).install},
		{Name: "prebuilt.lock", Group: groupBuild, Summary: "write down the checksums of Envoy and ztunnel", Want: (*wants).lockPrebuilts},
		{Name: "clean", Group: groupBuild, Summary: "remove TARGET_OUT, TARGET_OUT_LINUX and the images", Want: (*wants).clean},
	}
	for _, name := range binaryNames() {
		all = append(all, aGoal{Name: name, Group: groupBuild, Summary: "compile " + name, Want: want(func(a *artifacts, _ string) { a.binaries = append(a.binaries, name) })})
	}
	return all
}

// binaryNames are the goals for one binary. A catalog may have others: those
// are reached by their path in the output folder.
func binaryNames() []string {
	return []string{"istioctl", "pilot-discovery", "pilot-agent", "istio-cni", "install-cni", "client", "server", "extauthz", "generate_cert"}
}

func releaseGoals() []aGoal {
	all := []aGoal{
		{Name: "istioctl-all", Group: groupBuild, Summary: "compile istioctl for all systems it is released for", Want: want(func(a *artifacts, _ string) { a.all = true })},
		{Name: "istioctl.completion", Group: groupBuild, Summary: "write istioctl's completion files for bash and zsh", Want: func(w *wants, _ string) error { return w.completion("bash", "zsh") }},
	}
	for _, name := range []string{"istioctl-linux-amd64", "istioctl-linux-armv7", "istioctl-linux-arm64", "istioctl-osx", "istioctl-osx-arm64", "istioctl-win.exe"} {
		all = append(all, aGoal{Name: name, Group: groupBuild, Want: want(func(a *artifacts, _ string) { a.releases = append(a.releases, name) })})
	}
	return all
}

func imageGoals() []aGoal {
	to := func(o output) func(*wants, string) error {
		return want(func(a *artifacts, stem string) {
			if stem == "" {
				a.image(o)
			} else {
				a.image(o, stem)
			}
		})
	}
	return []aGoal{
		{Name: "docker", Aliases: []string{"docker.all", "dockerx"}, Group: groupImages, Summary: "build the images of DOCKER_TARGETS, or all; load them where a Docker engine answers", Want: to(toEngine)},
		{Name: "docker.push", Aliases: []string{"push", "dockerx.push", "dockerx.pushx"}, Group: groupImages, Summary: "build images once and push them to all hubs", Want: to(toHubs)},
		{Name: "docker.save", Aliases: []string{"dockerx.save"}, Group: groupImages, Summary: "save images as Docker archives in TARGET_OUT_LINUX/release/docker", Want: to(toFiles)},
		{Name: "docker.load", Aliases: []string{"dockerx.load"}, Group: groupImages, Summary: "build images and load them into a Docker engine, which has to be there", Want: want(func(a *artifacts, _ string) { a.image(toEngine); a.mustLoad = true })},
		{Name: "docker.kind", Aliases: []string{"kind-load"}, Group: groupImages, Summary: "build images and load what changed into the nodes of the kind cluster KIND_CLUSTER_NAME", Want: to(toNodes)},
		{Name: "docker.plan", Group: groupImages, Summary: "show who would build which image, and why", Want: (*wants).planOfImages},
		{Name: "docker.bake", Group: groupImages, Summary: "print what docker buildx bake would need to build the images, and lay their contexts out in out/bake", Want: to(toBake)},
		{Name: "bake", Group: groupImages, Summary: "build the targets of bake files (BAKE_FILES, BAKE_TARGETS); load them where a Docker engine answers", Want: func(w *wants, _ string) error { return w.bake(toEngine) }},
		{Name: "bake.push", Group: groupImages, Summary: "build the targets of bake files once and push them under all their tags", Want: func(w *wants, _ string) error { return w.bake(toHubs) }},
		{Name: "docker.check", Group: groupImages, Summary: "check the Dockerfiles of the images with BuildKit's rules", Want: (*wants).checkDockerfiles},
		{Name: "docker.sbom", Group: groupImages, Summary: "write what is in each image to out/sbom, in the form of SPDX", Want: (*wants).writeSBOMs},
		{Name: "docker.sizes", Group: groupImages, Summary: "show the size of each layer, and what changed since the last time or against SLIPWAY_SIZES_AGAINST", Want: (*wants).sizes},
		{Name: "docker.lock", Group: groupImages, Summary: "write the digests of base images down", Want: func(w *wants, _ string) error { return w.lockBases(false) }},
		{Name: "docker.update", Group: groupImages, Summary: "ask for the digests of base images anew", Want: func(w *wants, _ string) error { return w.lockBases(true) }},
		{Name: "docker.prune", Group: groupImages, Summary: "remove layers that no image needs any more", Want: (*wants).prune},
		{Name: "buildkitd", Group: groupImages, Summary: "run BuildKit's daemon here, for images that run programs; needs Linux, root and runc", Want: (*wants).buildkitd},
		{Name: "build-base-images", Group: groupImages, Summary: "build all base images anew and push them; HUBS and TAG have to be given", Want: (*wants).baseImages},
		{Name: "docker.resume", Group: groupImages, Summary: "finish the last push, without building", Want: (*wants).resume},
		{Name: "docker.%", Aliases: []string{"dockerx.docker.%", "dockerx.%"}, Group: groupImages, Summary: "build one image", Want: to(toEngine)},
		{Name: "push.docker.%", Group: groupImages, Summary: "build and push one image", Want: to(toHubs)},
		{Name: "tar.docker.%", Group: groupImages, Summary: "build and save one image", Want: to(toFiles)},
	}
}

func checkGoals() []aGoal {
	return []aGoal{
		{Name: "test", Aliases: []string{"racetest"}, Group: groupCheck, Summary: "run the tests of PKG; with -race in an Istio tree", Want: func(w *wants, _ string) error { return w.test(false) }},
		{Name: "test.real", Group: groupCheck, Summary: "run the long tests too, against real tools", Want: func(w *wants, _ string) error { return w.test(true) }},
		{Name: "format", Aliases: []string{"fmt"}, Group: groupCheck, Summary: "format Go and Python, and tidy go.mod", Want: (*wants).format},
		{Name: "format-go", Group: groupCheck, Summary: "tidy go.mod and format Go", Want: (*wants).formatGo},
		{Name: "precommit", Group: groupCheck, Summary: "format, then lint", Want: func(w *wants, _ string) error {
			if err := w.format(""); err != nil {
				return err
			}
			return w.lint("")
		}},
		{Name: "tidy-go", Group: groupCheck, Summary: "run go mod tidy", Want: func(w *wants, _ string) error { return w.goCommand("mod", "tidy") }},
		{Name: "mod-download-go", Group: groupCheck, Summary: "download Go modules", Want: func(w *wants, _ string) error { return w.goCommand("mod", "download") }},
		{Name: "check-clean-repo", Group: groupCheck, Summary: "fail when git sees changes", Want: (*wants).checkClean},
	}
}

func infoGoals() []aGoal {
	return []aGoal{
		{Name: "help", Group: groupInfo, Summary: "list all goals", Want: (*wants).help},
		{Name: "settings", Group: groupInfo, Summary: "show every setting, where it came from and what it beat", Want: (*wants).showSettings},
		{Name: "catalog", Group: groupInfo, Summary: "show the binaries, downloads and images that can be made", Want: (*wants).showCatalog},
		{Name: "plan", Group: groupInfo, Summary: "show what GOALS would do", Want: (*wants).showPlan},
		{Name: "show.env", Group: groupInfo, Summary: "print the environment that steps get", Want: (*wants).showEnviron},
		{Name: "show.goenv", Group: groupInfo, Summary: "print Go's version and environment", Want: (*wants).showGoEnv},
		{Name: "show.%", Group: groupInfo, Summary: "print one setting", Want: (*wants).showSetting},
	}
}

func benchGoals() []aGoal {
	return []aGoal{
		{Name: "bench.start", Group: groupBench, Summary: "how long the program takes to start", Want: (*wants).benchStart},
		{Name: "bench.build", Group: groupBench, Summary: "builds beside plain go build", Want: (*wants).benchBuild},
		{Name: "bench.imageset", Group: groupBench, Summary: "four images, two platforms, two hubs, beside buildctl, dockerd and the uncached way", Want: (*wants).benchImageSet},
		{Name: "bench.lint", Group: groupBench, Summary: "linters beside the programs that they stand in for", Want: (*wants).benchLint},
		{Name: "bench.images", Group: groupBench, Summary: "images beside hashing and compressing alone, and beside the uncached way", Want: (*wants).benchImages},
	}
}

func handedGoals() []aGoal {
	var all []aGoal
	for _, h := range handedOver() {
		all = append(all, aGoal{Name: h.name, Group: groupHanded, Summary: h.summary, Want: (*wants).handOver})
	}
	return all
}
