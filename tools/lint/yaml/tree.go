// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package yaml

// shape is what a node is made of.
type shape uint8

const (
	nothing shape = iota // only properties, or not even that
	scalarNode
	mappingNode
	sequenceNode
)

// role is what a node is to the collection that holds it.
type role uint8

const (
	root          role = iota
	entry              // behind a dash
	member             // of brackets or braces, without a colon
	simpleKey          // a key without a question mark
	explicitKey        // behind a question mark
	simpleValue        // the value of a simple key
	explicitValue      // any other value
)

// node is a value of the document. Nodes are kept in the order of the text, so
// a collection comes before what it holds. Places are numbers of tokens; -1
// is nowhere.
type node struct {
	shape     shape
	role      role
	flow      bool
	parent    int // number of a node
	indicator int // the dash, question mark, colon or comma it follows
	first     int // its first property, or begin
	begin     int // its content
	end       int // the bracket that closes it
}

// punctuation is a token that belongs to a collection, and is no value.
type punctuation struct{ token, holder int }

// planter makes the tree from tokens, also from those of a file with faults.
type planter struct {
	d    *document
	open []pending // collections that are not closed, the root first
}

// pending is what is known of the next node of a collection.
type pending struct {
	node      int
	dashed    bool // a sequence that has no more indentation than its key
	role      role
	indicator int
	first     int
}

func (d *document) plant() {
	p := planter{d: d, open: []pending{{node: -1, indicator: -1, first: -1}}}
	for i := range d.tokens[:d.taken] {
		p.take(i)
	}
}

func (p *planter) top() *pending { return &p.open[len(p.open)-1] }

func (p *planter) take(i int) {
	t := &p.d.tokens[i]
	switch t.kind {
	case streamStart, streamEnd, directive, documentStart, documentEnd:
		p.finish()
		p.open = p.open[:1]
		*p.top() = pending{node: -1, indicator: -1, first: -1}
	case anchor, tag:
		if p.top().first < 0 {
			p.top().first = i
		}
	case alias, scalar:
		p.add(scalarNode, false, i)
	case blockMapping:
		p.enter(p.add(mappingNode, false, i), false)
	case blockSequence:
		p.enter(p.add(sequenceNode, false, i), false)
	case flowMapping:
		p.enter(p.add(mappingNode, true, i), false)
	case flowSequence:
		p.enter(p.add(sequenceNode, true, i), false)
	case blockEnd, flowMappingEnd, flowSequenceEnd:
		p.leave(i)
	default:
		p.indicate(i, t)
	}
}

// indicate takes a dash, comma, question mark or colon.
func (p *planter) indicate(i int, t *token) {
	if top := p.top(); t.kind == blockEntry {
		if top.node >= 0 && p.d.nodes[top.node].shape == mappingNode && top.role != root {
			p.enter(p.add(sequenceNode, false, i), true)
		}
	} else if top.dashed {
		p.finish()
		p.open = p.open[:len(p.open)-1]
	}
	p.finish()
	top := p.top()
	top.indicator = i
	switch {
	case t.kind == blockEntry:
		top.role = entry
	case t.kind == flowEntry:
		top.role = member
	case t.kind == key && t.end.index > t.start.index:
		top.role = explicitKey
	case t.kind == key:
		top.role = simpleKey
		return
	case top.role == simpleKey:
		top.role = simpleValue
	default:
		top.role = explicitValue
	}
	if top.node >= 0 && p.d.nodes[top.node].flow {
		p.d.marks = append(p.d.marks, punctuation{i, top.node})
	}
}

// finish adds the node of properties without content.
func (p *planter) finish() {
	if top := p.top(); top.first >= 0 {
		p.add(nothing, false, -1)
	}
}

func (p *planter) add(s shape, flow bool, begin int) int {
	top := p.top()
	n := node{shape: s, flow: flow, role: top.role, parent: top.node, indicator: top.indicator, first: top.first, begin: begin, end: -1}
	if n.first < 0 {
		n.first = begin
	}
	if n.parent < 0 {
		n.role = root // a file with a fault may have signs here
	}
	top.first = -1
	p.d.nodes = append(p.d.nodes, n)
	return len(p.d.nodes) - 1
}

func (p *planter) enter(n int, dashed bool) {
	next := pending{node: n, dashed: dashed, indicator: -1, first: -1}
	if p.d.nodes[n].flow {
		next.role, next.indicator = member, p.d.nodes[n].begin
	}
	p.open = append(p.open, next)
}

// leave closes the innermost collection.
func (p *planter) leave(i int) {
	p.finish()
	if p.top().dashed {
		p.open = p.open[:len(p.open)-1]
		p.finish()
	}
	if len(p.open) == 1 {
		return
	}
	if n := &p.d.nodes[p.top().node]; n.flow {
		n.end = i
	}
	p.open = p.open[:len(p.open)-1]
}
