import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["src/zonal/web/page/static/*.js"],
    languageOptions: { globals: globals.browser, ecmaVersion: 2024, sourceType: "module" },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-implicit-globals": "error",
      "no-restricted-properties": ["error", { property: "innerHTML" }, { property: "outerHTML" }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "max-len": ["error", { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true }],
      "max-lines": ["error", { max: 400 }],
    },
  },
  {
    files: ["tests/web/javascript/*.js"],
    languageOptions: { globals: globals.node, ecmaVersion: 2024, sourceType: "module" },
  },
];
