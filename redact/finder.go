package redact

// finder looks for what no maker's rule knows. find is given where one of the
// words stands.
type finder struct {
	words []string
	kinds []string
	find  func(s *scan, from, to int)
}

// Kinds of what is found here.
const (
	kindPrivateKey = "private-key"
	kindJWT        = "jwt"
	kindURL        = "url-password"
	kindBearer     = "bearer-token"
	kindBasic      = "basic-auth"
	kindCurl       = "curl-auth-user"
	kindTelegram   = "telegram-bot-token"
	kindCookie     = "cookie"
	kindPassword   = "password"
	kindToken      = "token"
	kindSecret     = "secret"
	kindAPIKey     = "api-key"
	kindAWS        = "aws-access-token"
)

func finders() []finder {
	out := []finder{
		{[]string{"-----begin", "-----end"}, []string{kindPrivateKey}, (*scan).pem},
		{[]string{"eyj"}, []string{kindJWT}, (*scan).jwt},
		{[]string{"://"}, []string{kindURL}, (*scan).url},
		{[]string{"bearer"}, []string{kindBearer}, (*scan).bearer},
		{[]string{"authorization"}, []string{kindToken}, (*scan).authorization},
		{[]string{"basic"}, []string{kindBasic}, (*scan).basic},
		{[]string{"curl"}, []string{kindCurl}, (*scan).curl},
		{[]string{":aa"}, []string{kindTelegram}, (*scan).telegram},
		{[]string{"cookie"}, []string{kindCookie}, (*scan).cookie},
		{[]string{"passw", "passphrase", "passcode", "pass", "pwd"}, []string{kindPassword}, (*scan).given},
		{[]string{"token", "secret", "key", "auth", "cred", "sig"}, []string{kindToken, kindSecret, kindAPIKey}, (*scan).given},
	}
	out = append(out, finder{foreignPasswords, []string{kindPassword}, (*scan).foreign})
	out = append(out, finder{[]string{"identified"}, []string{kindPassword}, (*scan).identified})
	out = append(out, finder{[]string{"@tcp(", "@unix("}, []string{kindURL}, (*scan).dsn})
	for word := range commands {
		out = append(out, finder{[]string{word}, []string{kindPassword}, (*scan).command})
	}
	var lead []string
	for _, w := range whole {
		lead = append(lead, w.lead)
	}
	out = append(out, finder{lead, []string{kindToken}, (*scan).broken})
	for _, m := range marks {
		out = append(out, finder{[]string{m.word}, []string{m.kind}, m.find})
	}
	return out
}
