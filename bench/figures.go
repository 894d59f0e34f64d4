package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
)

// encodeFigures returns figures as the JSON of their file.
func encodeFigures(figures any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(figures)
	return text.Bytes(), err
}

// readFigures reads figures from their file.
func readFigures(file string) (*sizing, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	figures := &sizing{}
	return figures, json.Unmarshal(text, figures)
}

// saveFigures writes figures to a file, or, if its name is empty, to the file that docs/sizing.md is
// written from, and that page.
func saveFigures(figures any, name, file string) error {
	text, err := encodeFigures(figures)
	if err != nil {
		return err
	}
	if name != "" {
		return os.WriteFile(name, text, 0o644)
	}
	return errors.Join(os.WriteFile(file, text, 0o644), writeSizingPage())
}
