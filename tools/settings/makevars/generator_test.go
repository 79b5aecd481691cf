// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package makevars_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
)

var includes = regexp.MustCompile(`[-s]?include [^\n#)]*`)

// generator makes random fragments that hold what make can say, and what
// people get wrong.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g generator) name() string {
	return g.pick("HUB", "HUB", "HUBS", "TAG", "TAG", "PULL_POLICY", "A", "B", "C", "a-b", "x.y")
}

func (g generator) input() input {
	in := input{env: []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "USER=dev"}}
	in.env = append(in.env, "TAG="+g.pick("latest", "v1", "x y", "$(A)", ""))
	for _, n := range []string{"HUB", "HUBS", "PULL_POLICY", "A", "B", "C"} {
		if g.chance(20) {
			in.env = append(in.env, n+"="+g.value(1))
		}
	}
	for range g.IntN(3) {
		if g.chance(40) {
			in.args = append(in.args, g.name()+g.pick("=", ":=", "+=", "?=", "::=")+g.plainOrReference())
		}
	}
	if g.chance(15) {
		in.args = append(in.args, "-e")
	}
	in.fragment = g.pick("", "F = $(2)$(1)-$(0)$(3)\n", "F = $(if $(1),$(call G,$(1)))\nG = [$(1)$(2)]\n") + g.fragment(0)
	in.nested = g.pick("", "C = nested $(A)\n", "ifdef A\nB += n\nendif\n", includes.ReplaceAllString(g.fragment(2), "-include nope.mk")) // an endless include is an error of another kind
	if g.chance(5) {
		in.fragment = strings.ReplaceAll(in.fragment, "\n", "\r\n")
	}
	if g.chance(5) {
		in.fragment = strings.TrimSuffix(in.fragment, "\n")
	}
	if g.chance(2) {
		in.fragment = "\ufeff" + in.fragment
	}
	return in
}

func (g generator) plainOrReference() string {
	return g.pick("cmd", "c d", "", "$(A)", "$$x", `it's "q"`, "$(USER)", "a#b", "latest")
}

func (g generator) fragment(depth int) string {
	var b strings.Builder
	for range 1 + g.IntN(5) {
		b.WriteString(g.line(depth))
		b.WriteByte('\n')
	}
	return b.String()
}

func (g generator) line(depth int) string {
	switch n := g.IntN(100); {
	case n < 50:
		return g.assignment()
	case n < 62 && depth < 3:
		return g.conditional(depth)
	case n < 68:
		return g.define()
	case n < 74:
		return g.pick("export", "unexport", "export ", "unexport ") + g.pick("", "", " ") + g.pick("A", "HUB", "TAG A", "$(A)", "a-b", "B # c", "HUBS")
	case n < 78:
		return g.pick("", " ", "override ") + "undefine " + g.pick("A", "HUB ", "$(B)", "C # c", "  A")
	case n < 82:
		return "#" + g.value(0) + g.pick("", "\\\nA = swallowed", " \\\\")
	case n < 86:
		return g.pick("-include ", "include ", "sinclude ") + g.pick("nested.mk", "./nested.mk", "nope.mk nested.mk", "$(D)", "nest*.mk")
	case n < 90:
		return g.pick("a: b", "a: A = t", "HUB: x", "a b: $(A)", "a:", "a : ; echo $(HUB)", "$(NOPE)t: x", ".PHONY: a", "aa:: b", "x y", ":", "a: \\\n b") + g.pick("", "\n\tTAG = recipe", "\n\techo '$(A)'", "\n\n\tB = r\n\t# c")
	case n < 94:
		return "$(eval " + g.pick("A = 1", "B := $$(A)", "C += "+g.value(1), "export A", "$(A)") + ")"
	case n < 96:
		return g.pick("$(info hello)", "$(warning w)", "$(error stop $(A))", "set -e", "    x", "\tHUB = tab", "endif", "else", "endef", "vpath %.c x", "ifeq", "ifdef A B\nendif", "ifeq (a\nendif")
	default:
		return g.pick("", "  ", "\t", " # c", "\\", "A", "$(A)", "A B = c", "= x", "$(call F,1,2)", "export A = 1 B = 2", "override export C := o", "private A = p", "override", "define", "A\\\n= cont")
	}
}

func (g generator) assignment() string {
	modifier := ""
	if g.chance(25) {
		modifier = g.pick("export ", "override ", "private ", "export override ", "override export ", " ", "  ", "\t")
	}
	return modifier + g.assignable() + g.pick("", " ", "  ", "\t") + g.operator() + g.pick("", " ", "  ", "\t ") + g.value(0) + g.pick("", "", "", " ", "  ", " # comment", "#c", "\t", ` \# no`, " \\\n  more", "\\\nmore", " \\\n")
}

func (g generator) operator() string {
	return g.pick("=", "=", "=", ":=", ":=", "?=", "?=", "+=", "+=", "::=", "!=")
}

func (g generator) assignable() string {
	if g.chance(8) {
		return g.pick("$(A)", "$(N)x", "A$(B)", "HU$(E)B", "${A}", "$(subst x,A,x)")
	}
	return g.name()
}

func (g generator) define() string {
	return g.pick("", "", "export ", "override ") + "define " + g.name() + g.pick("", " =", " :=", " +=", " ?=", " = x") + "\n" +
		g.pick("one\ntwo", "", "$(A)\n  x  ", "a \\\n b", "define B\nin\nendef", "\tendef", "# c\nx", "endefx", "ifdef A\nx") + "\n" + g.pick("endef", "endef # c", "  endef", "endef x", "endef")
}

func (g generator) conditional(depth int) string {
	test := g.pick(
		"ifdef "+g.name(), "ifndef "+g.name(), "ifdef $(A)", "ifdef A # c",
		"ifeq ("+g.value(1)+","+g.value(1)+")", "ifneq ("+g.value(1)+" , "+g.value(1)+")", "ifeq '"+g.word()+"' '"+g.word()+"'",
		`ifneq "$(A)" "`+g.word()+`"`, "ifeq (,$(B))", "ifneq (,$(findstring a,$(A)))", "ifeq ($(TAG),latest) # c", "ifeq ( a,a)", "ifeq (a, a )", "ifeq 'a' \"a\" x",
	)
	text := g.pick("", "  ") + test + "\n" + g.fragment(depth+1)
	if g.chance(50) {
		text += g.pick("else\n", "else # c\n", "else ifdef "+g.name()+"\n", "else ifeq ($(A),"+g.word()+")\n", "  else\n") + g.fragment(depth+1)
	}
	if g.chance(10) {
		text += "else\n" + g.fragment(depth+1)
	}
	return text + g.pick("endif", "endif", "  endif", "endif # c", "endif x")
}

func (g generator) word() string {
	return g.pick("a", "b", "latest", "v1.2", "hub.example/x", "a/b.c", "x%", "é✓", "'q'", `"d"`, "1", "2", "0", "-", "~", "*.mk", "a.mk", "../x", "./y/", "=", "a=b", "b:c")
}

// value makes a text of words, references and functions.
func (g generator) value(depth int) string {
	var b strings.Builder
	for i := range g.IntN(4) {
		if i > 0 {
			b.WriteString(g.pick(" ", " ", "  ", "\t", "", ","))
		}
		switch n := g.IntN(100); {
		case n < 45 || depth > 3:
			b.WriteString(g.word())
		case n < 70:
			b.WriteString(g.reference())
		case n < 95:
			b.WriteString(g.function(depth + 1))
		default:
			b.WriteString(g.pick("$$", `\`, `\\`, "$", "(", ")", "$(", "{x}", "$(A", "${B", `\$$`, "$)", "()", "$ ", ";", "|"))
		}
	}
	return b.String()
}

func (g generator) reference() string {
	return g.pick("$(A)", "${B}", "$(C)", "$A", "$B", "$(USER)", "$(HUB)", "$(TAG)", "$(NOPE)", "$($(A))", "$(A:a=b)", "$(B:%=x%)", "$(C:%.mk=%.o)", "$(A:.c=.o%)", "$(a-b)", "${x.y}", "$(A$(B))", "$(${A}x)", "$(1)", "$(A:a=$(B))", "$( A)", "$(A )", "$(HUBS:x=y z)", `$(A:\%=b)`)
}

func (g generator) function(depth int) string {
	open, closing := "$(", ")"
	if g.chance(20) {
		open, closing = "${", "}"
	}
	number := g.pick("1", "2", " 3 ", "0", "x", "$(words $(A))", "10", "")
	body := g.pick(
		"subst ~W,@,@", "subst ,x,@", "patsubst ~P,~Q,@", "strip @", "findstring ~W,@", "filter ~P,@",
		"filter-out ~W,@", "sort @", "word ~N,@", "words @", "wordlist ~N,~N,@",
		"firstword @", "lastword @", "dir @", "notdir @", "suffix @", "basename @", "addsuffix ~W,@", "addprefix ~W,@",
		"join @,@", "if @,@,@", "if @,@", "or @,@", "and @,@, @", "foreach i,@,[$(i)$(A)]", "foreach A,@,@",
		"call F,@,@", "call F,$(1)x,@", "call subst,a,b,@", "value ~V", "origin ~V", "flavor ~V", "shell echo ~W", "shell printf 'a\\nb\\n\\n'", "shell exit 3", ".SHELLSTATUS",
		"wildcard *.mk", "wildcard n*.mk nope ./nested.mk", "abspath /a/../b//c ./x", "realpath nope .", "info ~W", "eval B = @", "strip", "word 1", "subst a,b", "patsubst a,b", "nofunction a,b", "origin $(A)", "notdir a/ b/", "strip  a\t b ",
	)
	body = strings.NewReplacer("~P", g.pick("%", "a%", "%.mk", "a", `\%`, "%%", "a% b"), "~Q", g.pick("%", "x%y", "z", "%%", `\%`), "~N", number, "~V", g.name()).Replace(body)
	for strings.Contains(body, "~W") {
		body = strings.Replace(body, "~W", g.word(), 1)
	}
	for strings.Contains(body, "@") {
		body = strings.Replace(body, "@", g.value(depth), 1)
	}
	return open + body + closing
}
