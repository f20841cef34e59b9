/** Encrypts texts for a store by a key that is derived from the secret key, for one purpose. */
export class Seal {
  #secret;
  #key;

  constructor(secretKey, purpose) {
    this.#secret = `${purpose} ${secretKey}`;
  }

  async seal(text) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await this.#derived(), new TextEncoder().encode(text));
    return btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
  }

  /** Rejects if it was not sealed with this key. */
  async open(sealed) {
    const bytes = Uint8Array.from(atob(sealed), (character) => character.charCodeAt(0));
    const algorithm = { name: "AES-GCM", iv: bytes.subarray(0, 12) };
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, await this.#derived(), bytes.subarray(12)));
  }

  #derived() {
    return (this.#key ??= derived(this.#secret));
  }
}

async function derived(secret) {
  const bytes = new TextEncoder().encode(secret);
  return crypto.subtle.importKey("raw", await crypto.subtle.digest("SHA-256", bytes), "AES-GCM", false, ["encrypt", "decrypt"]);
}
