;;; headless.el --- Measure servers of ours against bare ones  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Loaded by run.sh.  Pyright is asked about a project that Emacs has no server for: by us, from the
;; asking server's write to its read, and by bare.py, which does nothing but ask it.  Both have a pyright
;; of their own, and ask it as often; no two compile themselves alike, so each has fifteen in turn.
;; `lsp-cold' and `lsp-warm-references' are one question about a file that nobody visits; `lsp-warm' is all
;; that can be asked about a text that was just edited.

;;; Code:

(require 'bench)
(require 'features)
(require 'eca-context-eca)
(require 'eca-context-headless)

(defun bench-lsp-project (folder)
  "Write a project into FOLDER; return (FILE N-REFERENCES), the name from it."
  (let ((n-files (bench-size 500))
        (n-users 1)
        (file (expand-file-name "app.py" folder)))
    (bench-write file "class Cart:
    def total(self, items: list[int]) -> int:
        return sum(items)\n")
    (dotimes (n n-files)
      (let ((uses (zerop (% n 25))))
        (when uses (setq n-users (1+ n-users)))
        (bench-write (expand-file-name (format "part_%03d.py" n) folder)
                     (concat "from app import Cart\n\n\n"
                             (mapconcat (lambda (k)
                                          (format "def work_%d_%d(xs: list[int]) -> int:
    cart = Cart()\n    return len(xs) + %s\n\n\n"
                                                  n k (if (and uses (= k 7)) "cart.total(xs)" "k")))
                                        (number-sequence 0 15) "")))))
    (list file n-users)))

(defun bench-lsp (folder)
  "Measure the first right answer of a server started in FOLDER, and later ones.
The peer is that server asked by a script."
  (pcase-let* ((folder (file-name-as-directory (expand-file-name "lsp" folder)))
               (`(,file ,n) (bench-lsp-project folder))
               (about (list :uri (bench-uri file)))
               (at (append about '(:position (:line 1 :character 8) :limit 1000)))
               (all-found-p (lambda (result) (= (length (plist-get result :references)) n)))
               (said "")
               (peer (make-process
                      :name "bench-bare" :connection-type 'pipe :noquery t
                      :command (list "python3" (expand-file-name "bare.py" bench-folder)
                                     file "1" "8" (number-to-string n))
                      :filter (lambda (_ text) (setq said (concat said text)))))
               (bare (lambda (how)
                       (setq said "")
                       (garbage-collect)
                       (process-send-string peer (concat how "\n"))
                       (while (and (not (string-suffix-p "\n" said)) (process-live-p peer))
                         (bench-wait peer))
                       (unless (process-live-p peer)
                         (error "lsp: %s" said))
                       (string-to-number said))))
    (eca-context-eca-install)
    (unwind-protect
        (bench-with-server folder ask
          (let* ((referring (append at '(:include ["references"])))
                 (ours (lambda () (bench-lsp-ask ask "editor/getContext" referring all-found-p)))
                 cold references warm)
            (dotimes (_ (if (> bench-divisor 1) 1 15))
              (setq cold (append (bench-lsp-samples
                                  1 0
                                  (lambda ()
                                    (while (eca-context-headless-servers)
                                      (eca-context-headless-stop))
                                    (funcall ours))
                                  (lambda () (funcall bare "cold")))
                                 cold)
                    references (append (bench-lsp-samples 11 10 ours (lambda () (funcall bare "warm")))
                                       references))
              (with-current-buffer (find-file-noselect file)
                (unwind-protect
                    (let ((end (point-max))
                          (n 0))
                      (setq warm (append
                                  (bench-lsp-samples
                                   31 10
                                   (lambda ()
                                     (delete-region end (point-max))
                                     (goto-char end)
                                     (insert (format "# %d\n" (setq n (1+ n))))
                                     (bench-lsp-everything ask at about all-found-p))
                                   (lambda () (+ (funcall bare "edited") (funcall bare "checked"))))
                                  warm)))
                  (set-buffer-modified-p nil)
                  (kill-buffer))))
            (pcase-dolist (`(,name . ,samples) `(("lsp-cold" . ,cold)
                                                 ("lsp-warm-references" . ,references)
                                                 ("lsp-warm" . ,warm)))
              (bench-note name (mapcar #'car samples) (mapcar #'cdr samples)))))
      (eca-context-eca-uninstall)
      (eca-context-headless-stop)
      (delete-process peer))))

(defun bench-lsp-samples (n-samples n-first ours bare)
  "Call OURS and BARE in turn, N-SAMPLES each after N-FIRST to warm up.
Return a list of conses of what they return."
  (let (samples)
    (dotimes (sample (if (> bench-divisor 1) 2 (+ n-first n-samples)))
      (push (cons (funcall ours) (funcall bare)) samples)
      (when (= sample (1- n-first))
        (setq samples nil)))
    samples))

(defun bench-lsp-everything (ask at about all-found-p)
  "Have ASK ask for all AT a place, then for the diagnostics ABOUT its file.
Return how long that took; the references are right if ALL-FOUND-P."
  (+ (bench-lsp-ask ask "editor/getContext"
                    (append at '(:include ["definitions" "references" "documentation"
                                           "documentSymbols"]))
                    (lambda (result)
                      (and (funcall all-found-p result)
                           (= (length (plist-get result :definitions)) 1)
                           (= (length (plist-get result :documentation)) 1)
                           (= (length (plist-get result :documentSymbols)) 1))))
     (bench-lsp-ask ask "editor/getDiagnostics" about
                    (lambda (result) (eq (plist-get result :fresh) t)))))

(defun bench-lsp-ask (ask method params right-p)
  "Have ASK ask METHOD with PARAMS until RIGHT-P holds of the result.
Return how long that took.  While a server starts it says so and is asked again."
  (let ((sum 0)
        (is-right nil))
    (while (not is-right)
      (pcase-let ((`(,ms . ,result) (funcall ask method params)))
        (setq sum (+ sum ms)
              is-right (funcall right-p result))
        (when (> sum 60000)
          (error "lsp: %S" result))))
    sum))

(provide 'headless)
;;; headless.el ends here
