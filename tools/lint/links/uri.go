// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package links

import (
	"bytes"
	"regexp"
)

// The grammar of an absolute address in RFC 2396, as Ruby's URI.extract reads
// it: everything after the scheme is optional, so a place where a scheme stands
// always matches, and each part takes as much as it can.

// class is a set of ASCII characters.
type class [4]uint32

func newClass(chars string) class {
	var c class
	for i := range len(chars) {
		c[chars[i]>>5] |= 1 << (chars[i] & 31)
	}
	return c
}

func (c *class) has(b byte) bool {
	return b < 128 && c[b>>5]&(1<<(b&31)) != 0
}

const (
	alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	unreserved   = alphanumeric + "-_.!~*'()"
)

// literal6 is an IPv6 address between brackets (RFC 2373, as in RFC 2732).
var literal6 = regexp.MustCompile(`^(?:(?:[a-fA-F\d]{1,4}:)*(?:[a-fA-F\d]{1,4}|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})` +
	`|(?:(?:[a-fA-F\d]{1,4}:)*[a-fA-F\d]{1,4})?::(?:(?:[a-fA-F\d]{1,4}:)*(?:[a-fA-F\d]{1,4}|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}))?)$`)

// longest6 is more than any IPv6 address needs in writing. Ruby has no such
// bound; with none, an unclosed bracket would be read again for each address.
const longest6 = 200

// uriReader walks over one address.
type uriReader struct {
	text []byte
	at   int
}

// addressEnd returns where the address that starts with "http:" or "https:" at
// a place ends.
func addressEnd(text []byte, start int) int {
	r := &uriReader{text, start + bytes.IndexByte(text[start:], ':') + 1}
	inPath := newClass(unreserved + ":@&=+$,;/")
	inQuery := newClass(unreserved + ";/?:@&=+$,[]")
	noSlash := newClass(unreserved + ";?:@&=+$,")
	if r.one(&noSlash) { // an address without a host
		r.many(&inQuery)
	} else {
		if bytes.HasPrefix(r.rest(), []byte("//")) {
			r.at += 2
			r.server()
		}
		if r.peek('/') {
			r.many(&inPath)
		}
		if r.skip('?') {
			r.many(&inQuery)
		}
	}
	if r.skip('#') {
		r.many(&inQuery)
	}
	return r.at
}

// server reads user, host and port; none of them need be there.
func (r *uriReader) server() {
	start := r.at
	inUser := newClass(unreserved + ";:&=+$,")
	r.many(&inUser)
	if !r.skip('@') || !r.host() {
		r.at = start
		if !r.host() {
			return
		}
	}
	if r.skip(':') {
		digits := newClass("0123456789")
		for r.at < len(r.text) && digits.has(r.text[r.at]) {
			r.at++
		}
	}
}

func (r *uriReader) host() bool {
	start := r.at
	inName := newClass(alphanumeric + "-.")
	r.many(&inName)
	if r.at > start {
		return true
	}
	if !r.peek('[') {
		return false
	}
	rest := r.rest()
	end := bytes.IndexByte(rest[:min(len(rest), longest6)], ']')
	if end < 0 || !literal6.Match(rest[1:end]) {
		return false
	}
	r.at += end + 1
	return true
}

func (r *uriReader) rest() []byte { return r.text[r.at:] }

func (r *uriReader) peek(b byte) bool { return r.at < len(r.text) && r.text[r.at] == b }

func (r *uriReader) skip(b byte) bool {
	if !r.peek(b) {
		return false
	}
	r.at++
	return true
}

// one reads a character of the class, or a % with two hexadecimal digits.
func (r *uriReader) one(c *class) bool {
	if r.at < len(r.text) && c.has(r.text[r.at]) {
		r.at++
		return true
	}
	if r.peek('%') && r.at+2 < len(r.text) && isHex(r.text[r.at+1]) && isHex(r.text[r.at+2]) {
		r.at += 3
		return true
	}
	return false
}

func (r *uriReader) many(c *class) {
	for r.one(c) {
	}
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}
