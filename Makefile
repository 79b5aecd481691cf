# Hands all goals of one make call, with make's flags and variables, to one
# process of Slipway's program. The program is compiled when one of its sources
# has changed, and is named after their content. See README.md for the ways to
# use this file in another repository. GNU make 3.81 and later.

slipway_dir := $(patsubst %/,%,$(or $(SLIPWAY_DIR),$(dir $(realpath $(lastword $(MAKEFILE_LIST))))))
$(if $(and $(filter 1,$(words $(slipway_dir))),$(wildcard $(slipway_dir)/magefiles)),,$(error Slipway is not in "$(slipway_dir)": make cannot use a path with a space, and SLIPWAY_DIR, if set, must name the folder that holds magefiles))
slipway_goals := $(filter-out .DEFAULT .PHONY,$(MAKECMDGOALS))
slipway_rule = $(subst ;,\;,$(subst :,\:,$(subst %,\%,$(sort $1))))

export SLIPWAY_GOALS := $(slipway_goals)
export SLIPWAY_MAKEFLAGS = $(MAKEFLAGS)

define SLIPWAY_SHIM
d='$(slipway_dir)'; o=$$d/out/mage; unset SLIPWAY_SHIM
list() { cd "$$d" && find go.mod go.sum Makefile magefiles tools common -type f ! -name '*_test.go' ! -path '*/testdata/*' ! -name mage_output_file.go | LC_ALL=C sort; }
sums() { f=`list` && echo "$$f" && cd "$$d" && echo "$$f" | if git hash-object --no-filters --stdin </dev/null >/dev/null 2>&1; then git hash-object --no-filters --stdin-paths; else tr '\n' '\0' | xargs -0 cksum; fi; }
k=`sums | { git hash-object --no-filters --stdin 2>/dev/null || cksum | tr -d ' '; }`
if [ ! -x "$$o/$$k" ]; then
  command -v go >/dev/null || { echo 'slipway: Go is not on PATH: install it (https://go.dev/dl) and run make again' >&2; exit 3; }
  echo 'slipway: compiling the program (after a change; the first time takes a minute or two)' >&2
  ( b=$$o/.build.$$$$; trap 'rm -rf "$$b"' EXIT; trap 'exit 130' INT TERM HUP
    mkdir -p "$$b" && find "$$o" -name '.build.*' -mmin +60 -prune -exec rm -rf {} + &&
    cp -R "$$d/magefiles" "$$b" && cd "$$d" && unset MAKEFLAGS MFLAGS MAKELEVEL GOOS GOARCH GOARM GOEXPERIMENT &&
    GOFLAGS=-buildvcs=false GOWORK=off CGO_ENABLED=0 go tool mage -d "$$b" -ldflags '-s -w' -compile "$$b/mage" && mv -f "$$b/mage" "$$o/$$k" &&
    ls -t "$$o" | tail -n +4 | while read -r f; do rm -f "$$o/$$f"; done ) || exit
fi
exec "$$o/$$k" make
endef
export SLIPWAY_SHIM

.SUFFIXES:
.PHONY: slipway--run
slipway--run:
ifneq ($(slipway_goals)$(if $(MAKECMDGOALS),,default),)
	+@eval "$$SLIPWAY_SHIM"
endif
ifneq ($(filter-out slipway--run,$(slipway_goals)),)
.PHONY: $(call slipway_rule,$(slipway_goals))
$(call slipway_rule,$(slipway_goals)): slipway--run
	@:
endif
