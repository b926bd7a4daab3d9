package lambda

import (
	"cmp"
	"maps"
	"path/filepath"
	"strconv"

	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// handlerName is the handler of a function on provided.al2023.
const handlerName = "bootstrap"

// environ returns a process's environment: "Using Lambda environment
// variables", Defined runtime environment variables. AWS_EXECUTION_ENV is left
// out because Lambda does not set it for provided runtimes.
func environ(fn Function, runtimeAPI, dir, logStream string) []string {
	vars := map[string]string{
		"LANG":                            "en_US.UTF-8",
		"TZ":                              ":UTC",
		"LAMBDA_TASK_ROOT":                dir,
		"LAMBDA_RUNTIME_DIR":              "/var/runtime",
		"AWS_REGION":                      fn.Region,
		"AWS_DEFAULT_REGION":              fn.Region,
		"AWS_ACCESS_KEY_ID":               "test",
		"AWS_SECRET_ACCESS_KEY":           "test",
		"AWS_SESSION_TOKEN":               "test",
		"AWS_LAMBDA_FUNCTION_NAME":        fn.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     fn.Version,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(fn.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + fn.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      logStream,
		"_HANDLER":                        handlerName,
	}
	if fn.shared() {
		vars["AWS_LAMBDA_MAX_CONCURRENCY"] = strconv.Itoa(fn.ConcurrencyPerEnvironment)
	}
	maps.Copy(vars, fn.Env)
	vars["AWS_LAMBDA_RUNTIME_API"] = runtimeAPI // without it nothing works
	return subprocess.Environ(vars)
}

// taskRoot returns the absolute folder that the process starts in.
func taskRoot(dir, command string) (string, error) {
	return filepath.Abs(cmp.Or(dir, filepath.Dir(command)))
}
