// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfiles

// rule is what is known of a rule beside its check.
type rule struct {
	level   Level
	message string // may have one %s, for the detail of a finding
}

// ruleTable holds the rules with the severities that hadolint documents.
func ruleTable() map[string]rule {
	const e, w, i, s = LevelError, LevelWarning, LevelInfo, LevelStyle
	return map[string]rule{
		"DL1000": {e, "this cannot be read: %s"},
		"DL1001": {LevelIgnore, "a comment ignores rules here: mend what they find instead"},
		"DL3000": {e, "the path of WORKDIR has to be absolute"},
		"DL3001": {i, "%s makes no sense in a container that is being built"},
		"DL3002": {w, "the last USER is root: switch to another user at the end"},
		"DL3003": {w, "change the folder with WORKDIR, not with cd"},
		"DL3004": {e, "sudo behaves in unexpected ways here: switch with USER, or use a tool such as gosu"},
		"DL3006": {w, "the image %s has no tag: name its version"},
		"DL3007": {w, "the tag latest means another image tomorrow: name a release"},
		"DL3008": {w, "apt-get install %s takes any version: write PACKAGE=VERSION"},
		"DL3009": {i, "the lists of apt-get stay in the image: remove /var/lib/apt/lists/* in the same RUN"},
		"DL3010": {i, "ADD unpacks the archive %s by itself, without a layer for the archive"},
		"DL3011": {e, "the port %s is not between 0 and 65535"},
		"DL3012": {e, "the stage has more than one HEALTHCHECK; only the last counts"},
		"DL3013": {w, "pip install %s takes any version: write PACKAGE==VERSION, or name a file with --requirement"},
		"DL3014": {w, "apt-get install asks before it goes on: give it -y"},
		"DL3015": {i, "apt-get install brings recommended packages too: give it --no-install-recommends"},
		"DL3016": {w, "npm install %s takes any version: write PACKAGE@VERSION"},
		"DL3018": {w, "apk add %s takes any version: write PACKAGE=VERSION"},
		"DL3019": {i, "apk add leaves its index in the image: give it --no-cache"},
		"DL3020": {e, "%s is neither an archive nor an address: use COPY instead of ADD"},
		"DL3021": {e, "COPY of several sources needs a folder as destination: end it with /"},
		"DL3022": {w, "COPY --from=%s names no stage above"},
		"DL3023": {e, "COPY --from=%s names the stage that it is in"},
		"DL3024": {e, "there is a stage %s already: give this one another name"},
		"DL3025": {w, "%s takes its command as a JSON list, or a shell gets in between"},
		"DL3026": {e, "the image %s is of a registry that is not trusted"},
		"DL3027": {w, "apt is made for people, its options change: use apt-get or apt-cache"},
		"DL3028": {w, "gem install %s takes any version: write GEM:VERSION"},
		"DL3029": {w, "FROM names the platform itself: leave that to the one who builds"},
		"DL3030": {w, "yum install asks before it goes on: give it -y"},
		"DL3032": {w, "the cache of yum stays in the image: run yum clean all in the same RUN"},
		"DL3033": {w, "yum install %s takes any version: write PACKAGE-VERSION"},
		"DL3034": {w, "zypper asks before it goes on: give it --non-interactive or -y"},
		"DL3035": {w, "zypper dist-upgrade makes another distribution of the base image"},
		"DL3036": {w, "the cache of zypper stays in the image: run zypper clean in the same RUN"},
		"DL3037": {w, "zypper install %s takes any version: write PACKAGE=VERSION"},
		"DL3038": {w, "dnf install asks before it goes on: give it -y"},
		"DL3040": {w, "the cache of dnf stays in the image: run dnf clean all in the same RUN"},
		"DL3041": {w, "dnf install %s takes any version: write PACKAGE-VERSION"},
		"DL3042": {w, "pip install leaves its cache in the image: give it --no-cache-dir"},
		"DL3043": {e, "ONBUILD cannot run %s"},
		"DL3044": {e, "$%s is set by this same ENV, so it has not its new value yet"},
		"DL3045": {w, "COPY to the relative %s, and no WORKDIR says relative to what"},
		"DL3046": {w, "useradd with so high an ID makes a huge file of logins: give it -l"},
		"DL3047": {i, "wget fills the log with its progress: give it --progress=dot:giga, or -q"},
		"DL3048": {s, "the label %s has a name that is not allowed"},
		"DL3049": {i, "the label %s is missing"},
		"DL3050": {i, "the label %s is not in the label-schema"},
		"DL3051": {w, "the label %s is empty"},
		"DL3052": {w, "the label %s is no URL"},
		"DL3053": {w, "the label %s is no time as of RFC 3339"},
		"DL3054": {w, "the label %s is no SPDX licence expression"},
		"DL3055": {w, "the label %s is no hash of a git commit"},
		"DL3056": {w, "the label %s is no semantic version"},
		"DL3057": {LevelIgnore, "there is no HEALTHCHECK"},
		"DL3058": {w, "the label %s is no e-mail address"},
		"DL3059": {i, "this RUN follows another: one of them would do"},
		"DL3060": {i, "the cache of yarn stays in the image: run yarn cache clean in the same RUN"},
		"DL3061": {e, "%s stands before the first FROM: only ARG may"},
		"DL3062": {w, "go install %s takes any version: write PACKAGE@VERSION"},
		"DL4000": {e, "MAINTAINER is deprecated: use LABEL"},
		"DL4001": {w, "the stage uses both wget and curl: one of them is enough"},
		"DL4003": {w, "the stage has more than one CMD; only the last counts"},
		"DL4004": {e, "the stage has more than one ENTRYPOINT; only the last counts"},
		"DL4005": {w, "change the shell with SHELL, not with a link in the place of /bin/sh"},
		"DL4006": {w, "a failure before the | goes unseen: set SHELL with -o pipefail before this RUN"},
	}
}
