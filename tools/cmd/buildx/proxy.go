// Copyright Slipway Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// proxy carries bytes between in/out and conn until the builder has closed its
// side. The end of in closes the way to the builder alone, so answers that are
// on their way still arrive. When ctx ends, the connection is closed.
func proxy(ctx context.Context, conn net.Conn, in io.Reader, out io.Writer) error {
	defer func() { _ = conn.Close() }() // both ends have nothing more to say
	sent, received := make(chan error, 1), make(chan error, 1)
	go func() {
		if _, err := io.Copy(conn, in); !ended(err) {
			sent <- err // before the builder can answer the end
			_ = closeWrite(conn)
			return
		}
		sent <- closeWrite(conn)
	}()
	go func() {
		_, err := io.Copy(out, conn)
		received <- err
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-sent:
			if !ended(err) {
				return fmt.Errorf("sending to the builder: %w", err)
			}
			sent = nil // the builder closes when it has read the end
		case err := <-received:
			// Both may be there, and what was not sent explains the rest.
			select {
			case err := <-sent:
				if !ended(err) {
					return fmt.Errorf("sending to the builder: %w", err)
				}
			default:
			}
			if !ended(err) {
				return fmt.Errorf("receiving from the builder: %w", err)
			}
			return nil
		}
	}
}

// closeWrite ends the way to the builder. A connection that cannot be closed
// by half is closed, or the builder would never learn of the end.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// ended is true for the errors that only say that the other side, or we, have
// closed the connection.
func ended(err error) bool {
	if err == nil {
		return true
	}
	for _, end := range []error{io.EOF, net.ErrClosed, io.ErrClosedPipe, syscall.EPIPE, syscall.ECONNRESET, syscall.ENOTCONN} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
