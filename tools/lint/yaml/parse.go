// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

import "fmt"

// state is what the parser expects next.
type state uint8

const (
	atImplicitDocument state = iota
	atDocument
	atDocumentContent
	atDocumentEnd
	atBlockNode
	atSequenceEntry
	atIndentlessEntry
	atMappingKey
	atMappingValue
	atFlowSequenceFirst
	atFlowSequenceEntry
	atFlowPairKey
	atFlowPairValue
	atFlowPairEnd
	atFlowMappingFirst
	atFlowMappingKey
	atFlowMappingValue
	atFlowMappingEmpty
	atEnd
)

// parser checks that tokens form documents. It keeps nothing of them: only
// the first fault matters here.
type parser struct {
	*scanner
	state   state
	states  []state
	tags    map[string]bool
	refused bool // the fault is the parser's, not the scanner's
}

// check returns the first fault of the text behind the scanner, nil if it is
// YAML. Tokens are scanned no further than that.
func (s *scanner) check() *syntaxError {
	p := &parser{scanner: s}
	p.next() // the start of the stream
	for p.state != atEnd && p.err == nil {
		p.run()
	}
	err := p.err
	if p.refused {
		p.err = nil // the scanner can go on
	}
	return err
}

// look is the kind of the next token.
func (p *parser) look() (kind, bool) {
	t := p.peek()
	if t == nil {
		return streamEnd, false
	}
	return t.kind, true
}

func (p *parser) next() {
	if p.peek() != nil {
		p.taken++
	}
}

func (p *parser) push(s state) { p.states = append(p.states, s) }

func (p *parser) pop() {
	if n := len(p.states); n > 0 {
		p.state = p.states[n-1]
		p.states = p.states[:n-1]
		return
	}
	p.state = atEnd
}

// refuse is a fault at the next token.
func (p *parser) refuse(format string, args ...any) {
	t := p.peek()
	if t == nil {
		return
	}
	p.refused = true
	p.err = &syntaxError{t.start, fmt.Sprintf(format, args...)}
}

func (p *parser) run() {
	k, ok := p.look()
	if !ok {
		if p.err == nil {
			p.state = atEnd
		}
		return
	}
	switch p.state {
	case atImplicitDocument:
		if k == directive || k == documentStart || k == streamEnd {
			p.document(k)
			return
		}
		p.tags = map[string]bool{"!": true, "!!": true}
		p.push(atDocumentEnd)
		p.state = atBlockNode
	case atDocument:
		p.document(k)
	case atDocumentContent:
		if k == directive || k == documentStart || k == documentEnd || k == streamEnd {
			p.pop()
			return
		}
		p.node(true, false)
	case atDocumentEnd:
		if k == documentEnd {
			p.next()
		}
		p.state = atDocument
	case atBlockNode:
		p.node(true, false)
	case atSequenceEntry, atIndentlessEntry, atMappingKey, atMappingValue:
		p.block(k)
	default:
		p.flowed(k)
	}
}

func (p *parser) document(k kind) {
	for k == documentEnd {
		p.next()
		var ok bool
		if k, ok = p.look(); !ok {
			return
		}
	}
	if k == streamEnd {
		p.next()
		p.state = atEnd
		return
	}
	p.tags = map[string]bool{}
	version := false
	for k == directive {
		t := p.peek().detail
		switch string(t.text) {
		case "YAML":
			if version {
				p.refuse("found duplicate YAML directive")
				return
			}
			if t.handle != "1" {
				p.refuse("found incompatible YAML document (version 1.* is required)")
				return
			}
			version = true
		case "TAG":
			if p.tags[t.handle] {
				p.refuse("duplicate tag handle '%s'", t.handle)
				return
			}
			p.tags[t.handle] = true
		}
		p.next()
		var ok bool
		if k, ok = p.look(); !ok {
			return
		}
	}
	p.tags["!"], p.tags["!!"] = true, true
	if k != documentStart {
		p.refuse("expected '<document start>', but found '%s'", k.id())
		return
	}
	p.next()
	p.push(atDocumentEnd)
	p.state = atDocumentContent
}

// node is one value: properties, then content.
func (p *parser) node(block, indentless bool) {
	k, ok := p.look()
	if !ok {
		return
	}
	if k == alias {
		p.next()
		p.pop()
		return
	}
	properties := false
	if k == anchor || k == tag {
		properties = true
		if k, ok = p.properties(k); !ok {
			return
		}
	}
	switch {
	case indentless && k == blockEntry:
		p.state = atIndentlessEntry
	case k == scalar:
		p.next()
		p.pop()
	case k == flowSequence:
		p.next()
		p.state = atFlowSequenceFirst
	case k == flowMapping:
		p.next()
		p.state = atFlowMappingFirst
	case block && k == blockSequence:
		p.next()
		p.state = atSequenceEntry
	case block && k == blockMapping:
		p.next()
		p.state = atMappingKey
	case properties:
		p.pop()
	default:
		p.refuse("expected the node content, but found '%s'", k.id())
	}
}

// properties passes an anchor and a tag in either order.
func (p *parser) properties(k kind) (kind, bool) {
	first := k
	var name token
	for k == anchor || k == tag {
		if k == tag {
			name = *p.peek()
		}
		p.next()
		var ok bool
		if k, ok = p.look(); !ok {
			return k, false
		}
		if k == first || first == streamEnd {
			break
		}
		first = streamEnd // both are there
	}
	if name.kind == tag && !name.detail.hasNo && !p.tags[name.detail.handle] {
		p.refused = true
		p.err = &syntaxError{name.start, fmt.Sprintf("found undefined tag handle '%s'", name.detail.handle)}
		return k, false
	}
	return k, true
}

func (p *parser) block(k kind) {
	switch p.state {
	case atSequenceEntry:
		switch k {
		case blockEntry:
			p.entry(func(k kind) bool { return k == blockEntry || k == blockEnd }, p.state, false)
		case blockEnd:
			p.next()
			p.pop()
		default:
			p.refuse("expected <block end>, but found '%s'", k.id())
		}
	case atIndentlessEntry:
		if k != blockEntry {
			p.pop()
			return
		}
		p.entry(func(k kind) bool { return k == blockEntry || k == key || k == value || k == blockEnd }, p.state, false)
	case atMappingKey:
		switch k {
		case key:
			p.entry(endsPair, atMappingValue, true)
		case blockEnd:
			p.next()
			p.pop()
		default:
			p.refuse("expected <block end>, but found '%s'", k.id())
		}
	case atMappingValue:
		if k != value {
			p.state = atMappingKey
			return
		}
		p.entry(endsPair, atMappingKey, true)
	}
}

func endsPair(k kind) bool { return k == key || k == value || k == blockEnd }

// entry passes an indicator and begins what follows it, unless that is empty.
func (p *parser) entry(empty func(kind) bool, then state, indentless bool) {
	p.next()
	k, ok := p.look()
	if !ok {
		return
	}
	if empty(k) {
		p.state = then
		return
	}
	p.push(then)
	p.node(true, indentless)
}

// flowEntry is the same in brackets.
func (p *parser) flowEntry(closing kind, then state, orValue bool) {
	p.next()
	k, ok := p.look()
	if !ok {
		return
	}
	if k == flowEntry || k == closing || orValue && k == value {
		p.state = then
		return
	}
	p.push(then)
	p.node(false, false)
}

func (p *parser) flowed(k kind) {
	switch p.state {
	case atFlowSequenceFirst, atFlowSequenceEntry:
		p.flowItem(k, flowSequenceEnd, p.state == atFlowSequenceFirst)
	case atFlowPairKey:
		p.flowEntry(flowSequenceEnd, atFlowPairValue, true)
	case atFlowPairValue:
		if k != value {
			p.state = atFlowPairEnd
			return
		}
		p.flowEntry(flowSequenceEnd, atFlowPairEnd, false)
	case atFlowPairEnd:
		p.state = atFlowSequenceEntry
	case atFlowMappingFirst, atFlowMappingKey:
		p.flowItem(k, flowMappingEnd, p.state == atFlowMappingFirst)
	case atFlowMappingValue:
		if k != value {
			p.state = atFlowMappingKey
			return
		}
		p.flowEntry(flowMappingEnd, atFlowMappingKey, false)
	case atFlowMappingEmpty:
		p.state = atFlowMappingKey
	}
}

// flowItem is an entry between brackets or braces, or their end.
func (p *parser) flowItem(k, closing kind, first bool) {
	if k != closing && !first {
		if k != flowEntry {
			p.refuse("expected ',' or '%s', but got '%s'", closing.id(), k.id())
			return
		}
		p.next()
		var ok bool
		if k, ok = p.look(); !ok {
			return
		}
	}
	switch {
	case k == closing:
		p.next()
		p.pop()
	case k == key && closing == flowSequenceEnd:
		p.state = atFlowPairKey
	case k == key:
		p.flowEntry(closing, atFlowMappingValue, true)
	case closing == flowSequenceEnd:
		p.push(atFlowSequenceEntry)
		p.node(false, false)
	default:
		p.push(atFlowMappingEmpty)
		p.node(false, false)
	}
}
