// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package dockerfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// expose reads ports such as 80, 53/udp and 8000-8003/tcp. Its words are
// expanded here, since one of them may expand to several.
func (s *stageState) expose(c *instructions.ExposeCommand, line int) error {
	ports := map[string]struct{}{}
	for p := range s.result.Config.ExposedPorts {
		ports[p] = struct{}{}
	}
	var listed []string
	for _, word := range c.Ports {
		words, err := s.lex.ProcessWords(word, s.env)
		if err != nil {
			return err
		}
		for _, w := range words {
			some, err := portRange(w)
			if err != nil {
				return err
			}
			listed = append(listed, some...)
		}
	}
	for _, p := range listed {
		ports[p] = struct{}{}
	}
	s.result.Config.ExposedPorts = ports
	s.step(line, "EXPOSE %v", listed)
	return nil
}

func portRange(text string) ([]string, error) {
	numbers, protocol, named := strings.Cut(text, "/")
	if !named {
		protocol = "tcp"
	}
	protocol = strings.ToLower(protocol)
	if protocol != "tcp" && protocol != "udp" && protocol != "sctp" {
		return nil, fmt.Errorf("port %q: the protocol is tcp, udp or sctp", text)
	}
	// A host part, as in docker run -p, has no meaning here and is dropped, as
	// BuildKit drops it.
	numbers = numbers[strings.LastIndex(numbers, ":")+1:]
	first, last, isRange := strings.Cut(numbers, "-")
	if !isRange {
		last = first
	}
	from, errFrom := strconv.ParseUint(first, 10, 16)
	to, errTo := strconv.ParseUint(last, 10, 16)
	if errFrom != nil || errTo != nil || from > to {
		return nil, fmt.Errorf("port %q: a port is a number up to 65535, or two with - between them", text)
	}
	var ports []string
	for p := from; p <= to; p++ {
		ports = append(ports, fmt.Sprintf("%d/%s", p, protocol))
	}
	return ports, nil
}
