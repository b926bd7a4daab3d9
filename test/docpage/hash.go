package docpage

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

var commentLine = regexp.MustCompile(`(?m)^\s*#.*\n|\r`)

// HashTerraform returns a hash of the .tf files of a folder. Lines that are comments do not change it.
func HashTerraform(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.tf"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s has no .tf files (%v)", folder, err)
	}
	hash := sha256.New()
	for _, file := range files { // in the order of their names
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s\n%s", filepath.Base(file), commentLine.ReplaceAll(text, nil))
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
