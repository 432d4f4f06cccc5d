// The token, said once: the server answers with a cookie that scripts cannot read.
import { $ } from "./dom.js";
import { post } from "./api.js";

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await post("/login", { token: event.target.elements.token.value });
    const next = new URLSearchParams(location.search).get("next") ?? "/";
    location.replace(/^\/(?![/\\])/.test(next) ? next : "/"); // a path of this server, nowhere else
  } catch (problem) {
    $("refused").hidden = false;
    $("refused").textContent = problem.message;
    $("token").select();
  }
});
$("token").focus();
